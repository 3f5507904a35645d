#!/usr/bin/env bash
# Peak memory of `ddiht train` on a LIBSVM file of about 1 GB.
#   bash benchmarks/memory.sh [K...]        (default: 1000, and 47236 = all features)
# `--gap 0`, so that the run does not end before the primal finish, which needs memory of its own.
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
data=$work/text.svm
run=benchmarks/runs/$(date +%F)-memory
mkdir -p "$run"
memory=$(awk '/MemTotal/ { printf "%.0f GiB", $2 / 2^20 }' /proc/meminfo)
version="$(git describe --always --dirty), $(rustc --version)"

"$ddiht" synth text --rows "$rows" -o "$data"
bytes=$(stat -c %s "$data")
entries=$(tr -cd : <"$data" | wc -c)
csr=$((8 * entries + 8 * rows))
bar=$((csr * 3 / 2 + 64 * 1000 * 1000))

status=0
echo "k,file_bytes,rows,entries,csr_bytes,bar_bytes,peak_bytes,passed" >"$run/raw.csv"
for k in "$@"; do
    /usr/bin/time -v -o "$work/time" "$ddiht" train "$data" -k "$k" \
        --gap 0 --rounds 10 --time 120s --quiet --json >"$work/summary"
    peak=$(($(awk -F': ' '/Maximum resident set size/ { print $2 }' "$work/time") * 1024))
    passed=yes
    if ((peak > bar)); then passed=NO status=1; fi
    echo "$k,$bytes,$rows,$entries,$csr,$bar,$peak,$passed" >>"$run/raw.csv"
done

{
    echo "| k | file MB | entries | CSR MB | bar MB | peak MB | peak / CSR | below the bar |"
    echo "| --- | --- | --- | --- | --- | --- | --- | --- |"
    awk -F, 'NR > 1 { printf "| %d | %.0f | %d | %.0f | %.0f | %.0f | %.2f | %s |\n",
        $1, $2 / 1e6, $4, $5 / 1e6, $6 / 1e6, $7 / 1e6, $7 / $5, $8 }' "$run/raw.csv"
} >"$run/summary.md"
{
    printf '# Peak memory on a file of 1 GB\n\n'
    printf -- '- ddiht: %s\n' "$version"
    printf -- '- machine: %s cores, %s, %s\n\n' "$(nproc)" "$memory" "$(uname -s)"
    printf '```\nbash benchmarks/memory.sh %s\n' "$*"
    printf 'ddiht synth text --rows %s -o text.svm\n' "$rows"
    printf 'ddiht train text.svm -k %s --gap 0 --rounds 10 --time 120s --json\n' "$@"
    printf '```\n\n'
    cat "$run/summary.md"
} >"$run/README.md"
cat "$run/summary.md"
exit "$status"
