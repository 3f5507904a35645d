"""Bytes a second from LIBSVM text, ours and theirs, and our shards beside it. The file is in the page cache.

LIBLINEAR's `train` reads all of its file before it looks at its options, so `-c 0`, which it refuses, is a run that only
reads: its time is that of the whole process. Ours is `seconds.load` of the summary, on all cores and on one.
"""

import argparse
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from datasets import MADE, generate, text_source
from tally import Report, interleaved, median, ratio, seconds_text

# About 1 GB of text, and 100 MB.
ROWS, QUICK_ROWS = 820_000, 82_000
DEBIAN = ["liblinear-tools", "liblinear4", "libblas3"]
LIBLINEAR_C = "LIBLINEAR train"
SKLEARN = "scikit-learn load_svmlight_file"
# Our rate over theirs, and over our own from text.
BARS = {SKLEARN: 10.0, LIBLINEAR_C: 5.0}
SHARD_BAR = 50.0
HEADER = ["reader", "seconds", "MB/s of text", "ours from text is quicker by"]


def run(arguments: argparse.Namespace) -> Report:
    """All readers in turn."""
    report = Report("loading", "Loading LIBSVM text and shards", HEADER, "ddiht as listed, the others one")
    path = generate(text_source(QUICK_ROWS if arguments.quick else ROWS), arguments.ddiht)
    cores = os.cpu_count() or 1
    with tempfile.TemporaryDirectory(dir=MADE) as directory:
        shards = Path(directory) / "shards"
        subprocess.run([arguments.ddiht, "shard", path, "-n", "1", "-o", shards], check=True, capture_output=True)
        calls = {"ddiht, text": lambda: ours(arguments, path, cores),
                 "ddiht, text, 1 thread": lambda: ours(arguments, path, 1),
                 "ddiht, shard": lambda: ours(arguments, shards, cores)}
        calls |= peers(report, path)
        # Once before: the file is in memory then, and every library loaded.
        path.read_bytes()
        results = interleaved(arguments.repeats, calls)
    report.commands += [f"ddiht synth text --rows {QUICK_ROWS if arguments.quick else ROWS} -o {path.name}",
                        f"ddiht shard {path.name} -n 1 -o shards",
                        f"ddiht train {path.name} -k 10 --rounds 1 --time 1s --threads {cores} --json",
                        f"liblinear-train -c 0 {path.name}"]
    judge(report, path.stat().st_size, results)
    return report


def ours(arguments: argparse.Namespace, data: Path, threads: int) -> float:
    """Seconds until the data are loaded; hardly any training follows."""
    call = [arguments.ddiht, "train", data, "-k", "10", "--rounds", "1", "--time", "1s", "--threads", str(threads),
            "--json", "--quiet"]
    done = subprocess.run(call, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)["seconds"]["load"]


def peers(report: Report, path: Path) -> dict[str, Callable[[], float]]:
    """The readers of others."""
    import numpy as np
    from liblinear.liblinearutil import svm_read_problem
    from sklearn.datasets import load_svmlight_file

    calls = {
        SKLEARN: lambda: clocked(lambda: load_svmlight_file(str(path), dtype=np.float32, zero_based=False)),
        "LIBLINEAR svm_read_problem, scipy": lambda: clocked(lambda: svm_read_problem(str(path), return_scipy=True)),
    }
    try:
        program, variables = liblinear_train()
        calls[LIBLINEAR_C] = lambda: clocked(lambda: only_read(program, variables, path))
    except (OSError, subprocess.CalledProcessError) as error:
        report.skip(LIBLINEAR_C, error)
    return calls


def clocked(call: Callable[[], object]) -> float:
    """Seconds of a call."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def liblinear_train() -> tuple[str, dict[str, str]]:
    """LIBLINEAR's program: an installed one, else Debian's packages unpacked beside the data."""
    installed = shutil.which("liblinear-train")
    if installed:
        return installed, dict(os.environ)
    place = MADE / "liblinear"
    if not place.exists():
        with tempfile.TemporaryDirectory() as directory:
            # apt's own user may not be allowed to write here.
            download = ["apt-get", "-o", "APT::Sandbox::User=root", "download", *DEBIAN]
            subprocess.run(download, cwd=directory, check=True, capture_output=True)
            for package in Path(directory).glob("*.deb"):
                subprocess.run(["dpkg", "-x", package, place], check=True)
    libraries = ":".join(sorted({str(file.parent) for file in place.rglob("*.so.*")}))
    return str(place / "usr" / "bin" / "liblinear-train"), os.environ | {"LD_LIBRARY_PATH": libraries}


def only_read(program: str, variables: dict[str, str], path: Path) -> None:
    """Read the file and stop at the option that LIBLINEAR refuses."""
    call = [program, "-c", "0", path, "/dev/null"]
    done = subprocess.run(call, env=variables, capture_output=True, text=True, check=False)
    if "C <= 0" not in done.stderr:
        raise OSError(f"LIBLINEAR did not end as expected: {done.stderr.strip()}")


def judge(report: Report, size: int, results: dict[str, list[float]]) -> None:
    """The table and the bars."""
    mine = median(results["ddiht, text"])
    for name, seconds in results.items():
        report.rows += [{"reader": name, "bytes": size, "repeat": at, "seconds": s} for at, s in enumerate(seconds)]
        middle = median(seconds)
        report.lines.append([name, seconds_text(middle), f"{ratio(size, middle) / 1e6:.0f}", f"{ratio(middle, mine):.3g}"])
    for name, bar in BARS.items():
        if name in results:
            report.bar(f"{name} / ddiht, text", ratio(median(results[name]), mine), bar, at_least=True, timed=True)
    report.bar("ddiht, text / ddiht, shard", ratio(mine, median(results["ddiht, shard"])), SHARD_BAR, at_least=True,
               timed=True)
