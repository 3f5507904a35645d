"""Passes over the data as a share of what memory can give.

The limit is the read bandwidth by benchmarks/bandwidth.c; the passes are those of crates/core/examples/passes.rs.
"""

import argparse
import json
import subprocess
from pathlib import Path

import record
from datasets import MADE, generate, text_source
from tally import Report, ratio

SOURCE = record.ROOT / "benchmarks" / "bandwidth.c"
COMPILE = ["cc", "-O3", "-march=native", "-pthread"]
PROGRAM = ["cargo", "run", "--release", "--quiet", "--package", "ddiht-core", "--example", "passes", "--"]
MEGABYTES = 1000
PASSES = 10
HEADER = ["what", "threads", "GB/s", "bytes", "ms", "share of the limit"]


def run(arguments: argparse.Namespace) -> Report:
    """The limit on one and two threads, and the passes beside it."""
    report = Report("bandwidth", "Passes over the data beside the read bandwidth of memory", HEADER, "as listed")
    limits = measure(arguments, report)
    rows = 20_242 if arguments.quick else 200_000
    path = generate(text_source(rows), arguments.ddiht)
    report.commands.append(f"{' '.join(PROGRAM)} {path.name}")
    done = subprocess.run([*PROGRAM, str(path)], check=True, stdout=subprocess.PIPE, text=True, cwd=record.ROOT)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    for line in lines:
        passed(report, line, limits)
    judge(report, {(line["pass"], line["threads"]): line for line in lines}, limits)
    return report


def judge(report: Report, lines: dict[tuple[str, int], dict], limits: dict[int, float]) -> None:
    """The bars: half of the bandwidth, and a restricted pass for 1.5 times its share."""
    for threads, limit in limits.items():
        full, restricted = lines["full", threads], lines["restricted", threads]
        share = full["bytes"] / full["seconds"] / limit
        report.bar(f"full pass, {threads} threads: share of the read bandwidth", share, 0.5, at_least=True, timed=True)
        cost = (restricted["seconds"] / full["seconds"]) / (restricted["bytes"] / full["bytes"])
        report.bar(f"restricted pass, {threads} threads: time over its share of the full one's", cost, 1.5, timed=True)


def measure(arguments: argparse.Namespace, report: Report) -> dict[int, float]:
    """Bytes a second by number of threads, from the C program."""
    program = MADE / "bandwidth"
    MADE.mkdir(parents=True, exist_ok=True)
    subprocess.run([*COMPILE, SOURCE, "-o", program], check=True)
    report.commands += [f"{' '.join(COMPILE)} benchmarks/bandwidth.c -o bandwidth"]
    limits = {}
    for threads in (1, 2):
        limits[threads] = max(read(program, threads) for _ in range(arguments.repeats))
        report.commands.append(f"./bandwidth {threads} {MEGABYTES} {PASSES}")
        size = MEGABYTES * 10**6
        add(report, "read bandwidth", threads, limits[threads], size, size / limits[threads], 1.0)
    return limits


def read(program: Path, threads: int) -> float:
    """The quickest of some passes."""
    call = [program, str(threads), str(MEGABYTES), str(PASSES)]
    return float(subprocess.run(call, check=True, capture_output=True, text=True).stdout)


def passed(report: Report, line: dict, limits: dict[int, float]) -> None:
    """One kind of pass: its bytes are those it must read."""
    rate = ratio(line["bytes"], line["seconds"])
    add(report, line["pass"], line["threads"], rate, line["bytes"], line["seconds"], rate / limits[line["threads"]])


def add(report: Report, what: str, threads: int, rate: float, size: int, seconds: float, share: float) -> None:
    """A line of the table and a row of the record."""
    report.rows.append({"what": what, "threads": threads, "bytes_a_second": rate, "bytes": size, "seconds": seconds,
                        "share": share})
    report.lines.append([what, str(threads), f"{rate / 1e9:.2f}", f"{size:.3g}", f"{1e3 * seconds:.3g}", f"{share:.2f}"])
