"""Time and memory against cores and rows, on text-like data with k = 1000 and to the same gap."""

import argparse

import numpy as np

import ours
from datasets import Dataset, load_text, text_source
from picture import Panel
from tally import Report, interleaved, median, ratio, seconds_text

ROWS = [50_000, 100_000, 200_000, 400_000]
QUICK_ROWS = [5_000, 10_000, 20_000, 40_000]
K = 1000
LOSS, RIDGE = "squared-hinge", 1e-4
# What every size reaches.
GAP, QUICK_GAP = 1e-2, 5e-2
SPEEDUP_BAR = 1.7
TIME_SLOPE_BAR = 1.15
MEMORY_SLOPE_BAR = 1.02
MEMORY_BAR = 1.6
FIXED_BYTES = 64e6
HEADER = ["rows", "entries", "threads", "gap", "seconds to the gap", "seconds", "peak MB", "1.6 CSR + compact copy + 64 MB"]


def run(arguments: argparse.Namespace) -> Report:
    """All sizes on all cores, and the largest but one on one core as well."""
    report = Report("scaling", "Time and memory against cores and rows", HEADER, "as listed")
    report.axes = ("rows", "seconds, or gigabytes")
    sizes = QUICK_ROWS if arguments.quick else ROWS
    by_rows = {rows: load_text(text_source(rows), arguments.ddiht) for rows in sizes}
    cases = {(rows, 2): data for rows, data in by_rows.items()} | {(sizes[2], 1): by_rows[sizes[2]]}
    gap = QUICK_GAP if arguments.quick else GAP
    calls = {case: (lambda data=data, case=case: train(arguments, data, case[1], gap)) for case, data in cases.items()}
    results = interleaved(arguments.repeats, calls)
    for case, runs in sorted(results.items()):
        record(report, cases[case], case[1], runs, gap)
    judge(report, sizes, results, gap)
    return report


def train(arguments: argparse.Namespace, data: Dataset, threads: int, gap: float) -> ours.Run:
    """To the same gap; the finish, which always follows, may end at a smaller one."""
    return ours.train(arguments.ddiht, data, K, LOSS, RIDGE, ["--gap", f"{gap:g}", "--threads", str(threads)])


def allowed(data: Dataset, run: ours.Run) -> float:
    """1.6 x the CSR arrays, a compact copy of the model's columns, and what is fixed: 8 bytes an entry, 8 a row."""
    compact = np.bincount(data.x.indices, minlength=data.features)[run.w != 0.0].sum()
    return MEMORY_BAR * 8.0 * (data.x.nnz + data.rows) + 8.0 * (compact + data.rows) + FIXED_BYTES


def record(report: Report, data: Dataset, threads: int, runs: list[ours.Run], gap: float) -> None:
    """The rows of one size."""
    limit, rows = allowed(data, runs[0]), data.rows
    report.rows += [{"rows": rows, "entries": data.x.nnz, "threads": threads, "repeat": at, "gap": run.summary["gap"],
                     "stopped": run.summary["stopped"], "seconds": run.seconds,
                     "seconds_to_gap": run.seconds_to_gap(gap), "load_seconds": run.summary["seconds"]["load"],
                     "peak_bytes": run.peak_bytes, "allowed_bytes": limit, "command": run.command}
                    for at, run in enumerate(runs)]
    peak = max(run.peak_bytes for run in runs)
    report.commands.append(runs[0].command)
    report.lines.append([str(rows), str(data.x.nnz), str(threads), f"{runs[0].summary['gap']:.1e}",
                         seconds_text(median([run.seconds_to_gap(gap) for run in runs])),
                         seconds_text(median([run.seconds for run in runs])), f"{peak / 1e6:.0f}", f"{limit / 1e6:.0f}"])
    report.bar(f"{rows} rows, {threads} threads: peak memory / allowed", peak / limit, 1.0)


def judge(report: Report, sizes: list[int], results: dict, gap: float) -> None:
    """The speed-up and the slopes."""
    times = {case: median([run.seconds for run in runs]) for case, runs in results.items()}
    reached = {n: median([run.seconds_to_gap(gap) for run in results[n, 2]]) for n in sizes}
    peaks = {case: max(run.peak_bytes for run in runs) for case, runs in results.items()}
    report.bar(f"{sizes[2]} rows: one core / two cores", ratio(times[sizes[2], 1], times[sizes[2], 2]), SPEEDUP_BAR,
               at_least=True, timed=True)
    report.bar("slope of time to the gap against rows", slope([(n, reached[n]) for n in sizes]), TIME_SLOPE_BAR, timed=True)
    report.bar("slope of peak memory against rows", slope([(n, peaks[n, 2]) for n in sizes]), MEMORY_SLOPE_BAR)
    report.panels.append(Panel("two threads", {
        "seconds to the gap": list(reached.items()), "peak memory, GB": [(n, peaks[n, 2] / 1e9) for n in sizes]}))


def slope(points: list[tuple[float, float]]) -> float:
    """Of the line through the logarithms."""
    xs, ys = np.log(np.array(points, dtype=float)).T
    return float(np.polyfit(xs, ys, 1)[0])
