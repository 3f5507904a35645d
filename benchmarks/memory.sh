#!/usr/bin/env bash
# Peak memory of `ddiht train` on a LIBSVM file of about 1 GB.
#   bash benchmarks/memory.sh [K...]        (default: 1000, and 47236 = all features)
# The bar: 1.5 x the CSR arrays (8 bytes an entry, 8 a row) + 64 MB. Exit code 1 when a run is above it.
# Needs GNU time; the file is made by `ddiht synth text` in $TMPDIR and deleted at the end.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

ddiht=${DDIHT:-target/release/ddiht}
rows=${ROWS:-820000}
if (($# == 0)); then set -- 1000 47236; fi

if [[ ! -x $ddiht ]]; then
    echo "no $ddiht: run 'cargo build --release' first" >&2
    exit 2
fi
if ! /usr/bin/time --version >/dev/null 2>&1; then
    echo "GNU time is missing; installing it" >&2
    apt-get install --yes --quiet time >&2
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$ddiht" synth text --rows "$rows" -o "$work/text.svm"
entries=$(tr -cd : <"$work/text.svm" | wc -c)
csr=$((8 * entries + 8 * rows))
bar=$((csr * 3 / 2 + 64 * 1000 * 1000))
awk -v bytes="$(stat -c %s "$work/text.svm")" -v rows="$rows" -v entries="$entries" -v csr="$csr" 'BEGIN {
    printf "file %.0f MB, %d rows, %d entries, CSR %.0f MB\n", bytes / 1e6, rows, entries, csr / 1e6 }'

status=0
for k in "$@"; do
    /usr/bin/time -v -o "$work/time" "$ddiht" train "$work/text.svm" -k "$k" --rounds 10 --time 120s --quiet --json >"$work/summary"
    peak=$(($(awk -F': ' '/Maximum resident set size/ { print $2 }' "$work/time") * 1024))
    verdict=ok
    if ((peak > bar)); then verdict="ABOVE THE BAR" status=1; fi
    awk -v k="$k" -v peak="$peak" -v csr="$csr" -v bar="$bar" -v verdict="$verdict" 'BEGIN {
        printf "k %-6d peak %.0f MB = %.2f x CSR, bar %.0f MB: %s\n", k, peak / 1e6, peak / csr, bar / 1e6, verdict }'
    cat "$work/summary"
done
exit "$status"
