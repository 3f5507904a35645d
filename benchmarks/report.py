#!/usr/bin/env python3
"""Repeat the experiments of the D-DIHT report (its Figs. 2 to 5) and put `exact` beside them.

    cargo build --release
    python3 benchmarks/report.py --out DIR                  # a tenth of the report's rows
    python3 benchmarks/report.py --out DIR --rows 480000    # its full size

Data are `ddiht synth text` with the report's 47,236 features. DIR receives one history a run, the
pictures, `raw.csv`, `summary.md`, `selected.jsonl` and `commands.txt`. The Python standard library is
enough. Exit code 1 means that `exact` did not end lowest.
"""

import argparse
import csv
import gzip
import json
import shlex
import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "compare"))
sys.dont_write_bytecode = True
from chart import Line, draw  # noqa: E402

KS = [2000, 10000]
BATCH, WORKERS, ASYNC = 3000, 8, 4
# Levels of P for "who is first", inside what `average` passes through.
LEVELS = [0.9, 0.8, 0.7]


@dataclass
class Run:
    """One training run, and what it left."""

    name: str
    label: str
    k: int
    options: str
    summary: dict
    lines: list

    def steps(self):
        """P of the model the run is at, once a server step, and the seconds at which it was known."""
        # A step's line tells P of the model that the step began with; the last model is scored afterwards.
        # Histories in which `min` has lines of its own for the scores of its candidates: those are not steps.
        points, last = [], None
        for line in self.lines:
            if line["step"] == "dual":
                points.append((len(points), line["seconds"], line["current"]))
            elif points and line["step"] == "score":
                last = line
        if last is not None and last["current"] is not None:
            points.append((len(points), last["seconds"], last["current"]))
        return [point for point in points if point[2] is not None]

    def end(self):
        """P of the last model; of `exact`, which has no other, the best one."""
        points = self.steps()
        return points[-1][2] if points else self.summary["objective"]

    def best(self):
        """The least P that the run has seen."""
        return min([self.summary["objective"], *(p for _, _, p in self.steps())])

    def seconds_to(self, level):
        """Seconds until a model with P at most `level` was known."""
        return next((s for _, s, p in self.steps() if p <= level), None)

    def swing(self):
        """Mean of |P(t) - P(t-1)| over the last quarter of the steps, and how many of them went up."""
        values = [p for _, _, p in self.steps()]
        values = values[len(values) * 3 // 4:]
        changes = [b - a for a, b in zip(values, values[1:])]
        if not changes:
            return 0.0, 0.0
        return statistics.mean(map(abs, changes)), sum(c > 0 for c in changes) / len(changes)


class Bench:
    """The program, the data and the directory of the results."""

    def __init__(self, arguments):
        self.binary, self.out, self.rows = arguments.binary, arguments.out, arguments.rows
        self.rounds = arguments.rounds
        self.data = self.out / "text.svm"
        self.out.mkdir(parents=True, exist_ok=True)
        self.runs = {}
        self.commands = []

    def ddiht(self, arguments):
        """Runs the program in the directory of the results; its standard output."""
        command = f"ddiht {arguments}"
        print(command, flush=True)
        self.commands.append(command)
        done = subprocess.run([self.binary, *shlex.split(arguments)], cwd=self.out,
                              stdout=subprocess.PIPE, text=True, check=True)
        return done.stdout

    def make_data(self):
        """The data set."""
        self.ddiht(f"synth text -o {self.data.name} --rows {self.rows}")

    def train(self, name, label, k, options, rounds=None):
        """One run; it is kept under its name."""
        history = f"{name}.jsonl"
        text = self.ddiht(f"train {self.data.name} -k {k} --lambda 1e-4 --no-intercept {options} --gap 0 "
                          f"--rounds {rounds or self.rounds} --history {history} --json --quiet")
        with open(self.out / history, encoding="utf-8") as file:
            lines = [json.loads(line) for line in file]
        run = Run(name, label, k, options, json.loads(text), lines)
        self.runs[name] = run
        print(f"  P {run.summary['objective']:.5f}, last {run.end():.5g}, bound "
              f"{run.summary['dual_bound']:.5f}, {run.summary['seconds']['train']:.1f} s", flush=True)
        return run

    def plot(self, picture, title, runs):
        """Objective, bound and gap against seconds, by the program itself."""
        files = " ".join(f"{run.name}.jsonl" for run in runs)
        labels = " ".join(f"--label {shlex.quote(run.label)}" for run in runs)
        self.ddiht(f"plot {files} {labels} --title {shlex.quote(title)} -o {picture}")


def centralised_and_distributed(bench, k, step=None):
    """Figs. 2 and 3: in one process, workers reached in memory."""
    rule = "" if step is None else f" --step {step}"
    suffix = "" if step is None else "-fixed"
    sdiht = f"--algorithm sdiht --batch-size {{}} --workers {{}}{rule}"
    central = 8 * BATCH
    runs = [
        bench.train(f"k{k}-ddiht{BATCH}{suffix}", f"D-DIHT{BATCH} (average)", k,
                    sdiht.format(BATCH, WORKERS) + " --aggregate average"),
        bench.train(f"k{k}-diht{BATCH}{suffix}", f"DIHT{BATCH}", k, sdiht.format(BATCH, 1)),
        bench.train(f"k{k}-diht{central}{suffix}", f"DIHT{central}", k, sdiht.format(central, 1)),
    ]
    if step is None:
        runs.append(bench.train(f"k{k}-exact", "exact", k, f"--workers {WORKERS}"))
    figure = {2000: 2, 10000: 3}[k]
    title = f"Fig. {figure}: k = {k}, " + (f"step {step} for all" if step else "safe step")
    if step is None:
        bench.plot(f"fig{figure}-seconds.svg", title, runs)
    draw_steps(bench.out / f"fig{figure}-steps{suffix}.svg", title, runs)


def variants(bench, k, repeats, step=None):
    """Figs. 4 and 5: workers reached by gRPC, as the report's real case had a network."""
    rule = "" if step is None else f" --step {step}"
    suffix = "" if step is None else "-fixed"
    common = f"--algorithm sdiht --batch-size {BATCH} --workers {WORKERS} --transport grpc{rule}"
    kinds = [
        ("average", "sync_avg", "--aggregate average", bench.rounds),
        ("min", "sync_min", "--aggregate min", bench.rounds),
        # A step of half the workers is half a round.
        ("async", f"async, S = {ASYNC}", f"--aggregate average --async {ASYNC}",
         bench.rounds * WORKERS // ASYNC),
    ]
    runs = []
    for repeat in range(repeats):
        for kind, label, options, rounds in kinds:
            name = f"k{k}-{kind}{suffix}" + (f"-again{repeat}" if repeat else "")
            run = bench.train(name, label, k, f"{common} {options}", rounds)
            if repeat == 0:
                runs.append(run)
    trio = list(runs)
    if step is None:
        runs.append(bench.train(f"k{k}-exact-grpc", "exact", k,
                                f"--workers {WORKERS} --transport grpc"))
    title = f"Fig. 4: k = {k}, " + (f"step {step}" if step else "safe step")
    if step is None:
        bench.plot(f"fig4-k{k}-seconds.svg", title, runs)
    draw_steps(bench.out / f"fig4-k{k}-steps{suffix}.svg", title, trio, bench.runs.get(f"k{k}-exact-grpc"))
    draw_clock(bench.out / f"fig4-k{k}-current{suffix}.svg", title, trio)
    draw_selected(bench.out / f"fig5-k{k}{suffix}.svg", runs[1], title.replace("Fig. 4", "Fig. 5"))


def ceiling(runs):
    """Top of the picture: runs that diverge leave it."""
    return min(1.05, max(p for run in runs for _, _, p in run.steps()))


def draw_steps(path, title, runs, exact=None):
    """P of the current model against server steps; the end of `exact` as a level."""
    moving = [run for run in runs if run.steps()]
    exact = exact or next((run for run in runs if not run.steps()), None)
    lines = [Line(run.label, [(t, p) for t, _, p in run.steps()]) for run in moving]
    if exact is not None:
        most = max(x for line in lines for x, _ in line.points)
        level = exact.summary["objective"]
        lines.append(Line("exact, where it ends", [(0, level), (most, level)], dashed=True))
    draw(path, title, "server step", "P of the current model", lines, top=ceiling(moving))


def draw_clock(path, title, runs):
    """P of the current model against seconds."""
    lines = [Line(run.label, [(s, p) for _, s, p in run.steps()]) for run in runs]
    draw(path, title, "training time (seconds)", "P of the current model", lines, top=ceiling(runs))


def draw_selected(path, run, title):
    """The worker that `min` chose in each round."""
    chosen = list(enumerate(run.summary["selected"], 1))
    draw(path, title, "round", "worker chosen by min", [Line("chosen worker", chosen, dots=True)],
         bottom=-0.5, top=WORKERS - 0.5, ticks=list(range(WORKERS)))


def settled(selected):
    """The last worker chosen, since which round without a break, and how many workers ever were."""
    last = selected[-1]
    since = len(selected)
    while since > 0 and selected[since - 1] == last:
        since -= 1
    return last, since + 1, len(set(selected))


def write_selected(bench):
    """`selected.jsonl`: the worker that `min` chose in each round, which histories do not tell."""
    chosen = [{"run": run.name, "selected": run.summary["selected"]}
              for run in bench.runs.values() if run.summary["selected"]]
    text = "".join(json.dumps(one, separators=(",", ":")) + "\n" for one in chosen)
    (bench.out / "selected.jsonl").write_text(text, encoding="utf-8")


def write_tables(bench):
    """`raw.csv` with full precision, and `summary.md`."""
    columns = ["run", "k", "options", "rounds", "P best", "P last", "P objective field", "bound", "gap",
               "seconds", "swing", "rising"]
    columns += [f"seconds to P {level}" for level in LEVELS]
    rows = []
    for run in bench.runs.values():
        swing, rising = run.swing()
        summary = run.summary
        steps = sum(line["step"] == "dual" for line in run.lines)
        rows.append([run.name, run.k, run.options, steps, run.best(), run.end(), summary["objective"],
                     summary["dual_bound"], summary["gap"], summary["seconds"]["train"], swing, rising,
                     *(run.seconds_to(level) for level in LEVELS)])
    with open(bench.out / "raw.csv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([columns, *rows])

    shown = ["run", "k", "steps", "best P", "last P", "bound", "seconds", "mean change of P a step", "steps up"]
    shown += [f"s to P {level}" for level in LEVELS]
    text = ["| " + " | ".join(shown) + " |", "|" + "---|" * len(shown)]
    for name, k, _, steps, best, end, _, bound, _, seconds, swing, rising, *reached in rows:
        exact = "exact" in name
        cells = [name, k, steps, f"{best:.5f}", "" if exact else f"{end:.5g}", f"{bound:.5f}",
                 f"{seconds:.1f}", "" if exact else f"{swing:.2g}", "" if exact else f"{rising:.0%}"]
        cells += ["" if value is None else f"{value:.2f}" for value in reached]
        text.append("| " + " | ".join(map(str, cells)) + " |")
    text += ["", "| run | chosen last | without a break since round | workers ever chosen |", "|---|---|---|---|"]
    for run in bench.runs.values():
        if run.summary["selected"]:
            text.append("| {} | {} | {} of {} | {} |".format(
                run.name, *settled(run.summary["selected"])[:2], len(run.summary["selected"]),
                settled(run.summary["selected"])[2]))
    (bench.out / "summary.md").write_text("\n".join(text) + "\n", encoding="utf-8")
    (bench.out / "commands.txt").write_text("\n".join(bench.commands) + "\n", encoding="utf-8")
    print("\n".join(text))


def pack(bench):
    """Histories without the seconds of single workers, compressed."""
    for run in bench.runs.values():
        for line in run.lines:
            del line["worker_seconds"]
        text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in run.lines)
        # No time stamp inside: the same run gives the same file.
        (bench.out / f"{run.name}.jsonl.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
        (bench.out / f"{run.name}.jsonl").unlink()


def parse_arguments():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=48000, help="rows of the data (default: 48000)")
    parser.add_argument("--binary", type=Path, default=HERE.parent / "target" / "release" / "ddiht",
                        help="the program (default: target/release/ddiht)")
    parser.add_argument("--out", type=Path, required=True, help="directory of the results")
    parser.add_argument("--rounds", type=int, default=200, help="rounds of all workers (default: 200)")
    parser.add_argument("--step", default="0.03",
                        help="the fixed step of the runs that share one; `none` leaves them out (default: 0.03)")
    parser.add_argument("--k", type=int, action="append", choices=KS, help="only this k; may be repeated")
    parser.add_argument("--figures", choices=["2-3", "4-5", "all"], default="all",
                        help="only these figures (default: all)")
    parser.add_argument("--repeats", type=int, default=3,
                        help="runs of Fig. 4 at k = 10000, for the clock (default: 3)")
    parser.add_argument("--keep", action="store_true", help="keep the data and the plain histories")
    arguments = parser.parse_args()
    if not arguments.binary.exists():
        parser.error(f"{arguments.binary} does not exist: run `cargo build --release` first")
    arguments.binary, arguments.out = arguments.binary.resolve(), arguments.out.resolve()
    return arguments


def main():
    """All runs, pictures and tables."""
    arguments = parse_arguments()
    bench = Bench(arguments)
    bench.make_data()
    ks = arguments.k or KS
    steps = [None] if arguments.step == "none" else [None, arguments.step]
    for k in ks:
        for step in steps:
            if arguments.figures != "4-5":
                centralised_and_distributed(bench, k, step)
            if arguments.figures != "2-3":
                variants(bench, k, arguments.repeats if k == 10000 and step is None else 1, step)
    write_tables(bench)
    write_selected(bench)
    if not arguments.keep:
        pack(bench)
        bench.data.unlink()
    lowest = {k: min((r for r in bench.runs.values() if r.k == k), key=Run.best).name for k in ks}
    print("lowest P:", lowest)
    return 0 if all("exact" in name for name in lowest.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
