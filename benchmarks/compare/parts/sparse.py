"""k features: an l1 penalty searched to k and refitted, which is what people do today, against ours on one thread.

A search ends with a support of k features or at most one per cent below. Its refit is by the solver and tolerance that come
within 1e-5 of the support's optimum soonest. What is measured of ours is the time to an objective below theirs, and
the objective in the end.
"""

import argparse
from dataclasses import dataclass

from liblinear.liblinearutil import problem

import l1
import ours
import peer
from datasets import Dataset
from objective import objective
from parts import sources
from picture import Panel
from tally import Report, interleaved, median, ratio, seconds_text

SIZES = [200, 1000, 2000]
RIDGES = [1e-4, 1e-5]
LOSSES = ["squared-hinge", "logistic"]
SLACK = 0.01
# -e of LIBLINEAR's search: its default, and one that takes half the time for supports that are hardly worse.
TOLERANCES = [0.1, 0.01]
TIME_BAR = 0.10
# Our objective over theirs with the squared hinge at 1000 features, by lambda.
FINAL_BAR = {1e-4: 0.995, 1e-5: 0.92}
# Seconds after which the search of a library other than LIBLINEAR ends with what it has.
PATIENCE, QUICK_PATIENCE = 300.0, 10.0
BASELINES = ["iht", "htp", "svr-ght"]
HEADER = ["data", "loss", "k", "lambda", "method", "features", "objective", "seconds", "ours below it after",
          "share of its time"]


@dataclass(frozen=True)
class Case:
    """What is minimised."""

    data: Dataset
    loss: str
    k: int
    ridge: float

    def __str__(self) -> str:
        return f"{self.data.source.name} {self.loss} k {self.k} lambda {self.ridge:g}"

    def judged(self, w) -> float:
        """P."""
        return objective(self.data, w, self.loss, self.ridge)


def run(arguments: argparse.Namespace) -> Report:
    """All data sets, losses and sizes; the other libraries on one data set."""
    report = Report("sparse", "k features: time to an objective below that of an l1 penalty and a refit", HEADER,
                    "one each")
    sizes = arguments.k or ([100] if arguments.quick else SIZES)
    for data in sources.sparse(arguments):
        for loss in LOSSES:
            for k in sizes:
                compare(arguments, report, data, loss, k)
        if arguments.quick or data.source.name == "imdb":
            others(arguments, report, Case(data, "logistic", 1000 if 1000 in sizes else sizes[0], 1e-4))
    return report


@dataclass(frozen=True)
class Rival:
    """LIBLINEAR at one tolerance of its search: the support it found, and how that is refitted."""

    name: str
    tolerance: float
    found: peer.Search
    task: problem
    refits: dict[float, peer.Fit]

    def setting(self, loss: str, ridge: float) -> str:
        """What LIBLINEAR was told."""
        search = f"-s {peer.L1_SOLVER[loss]} -c {self.found.c:.6g} -e {self.tolerance:g} ({self.found.fits} fits)"
        return f"{search}, then {self.refits[ridge].option}"


def rival(data: Dataset, loss: str, k: int, tolerance: float) -> Rival:
    """Search once, and choose the refits."""
    found = peer.search_l1(data, k, tolerance, loss, SLACK)
    narrow = peer.restrict(data, found.support)
    refits = {ridge: peer.quickest_refit(data, found.support, loss, ridge) for ridge in RIDGES}
    return Rival(f"LIBLINEAR l1 -e {tolerance:g} + refit", tolerance, found, problem(narrow.y, narrow.x), refits)


def compare(arguments: argparse.Namespace, report: Report, data: Dataset, loss: str, k: int) -> None:
    """LIBLINEAR and ours at all lambdas; a search does not depend on lambda and counts for each."""
    rivals = [rival(data, loss, k, tolerance) for tolerance in TOLERANCES]
    calls = {}
    for one in rivals:
        # The search that found the support is the first of the repeats.
        known = iter([one.found])
        calls["search", one.name] = lambda one=one, known=known: (
            next(known, None) or peer.search_l1(data, k, one.tolerance, loss, SLACK))
        for ridge in RIDGES:
            calls["refit", one.name, ridge] = lambda one=one, ridge=ridge: peer.fit(one.task, one.refits[ridge].option)
    for ridge in RIDGES:
        calls["ours", ridge] = lambda ridge=ridge: train(arguments, Case(data, loss, k, ridge), [])
    results = interleaved(arguments.repeats, calls)
    for ridge in RIDGES:
        judge(arguments, report, Case(data, loss, k, ridge), rivals, results)


def judge(arguments: argparse.Namespace, report: Report, case: Case, rivals: list[Rival], results: dict) -> None:
    """Rows, bars and the panel of a case."""
    runs = results["ours", case.ridge]
    points = {"ddiht": runs[-1].history}
    for one in rivals:
        searches, refits = results["search", one.name], results["refit", one.name, case.ridge]
        theirs = [search.seconds + seconds for search, (_, seconds) in zip(searches, refits)]
        p = one.refits[case.ridge].objective
        share = beside(report, case, one.name, len(one.found.support), p, theirs, runs, one.setting(case.loss, case.ridge))
        report.bar(f"{case}: time to below {one.name} / its time", share, TIME_BAR, timed=True)
        points[one.name] = [(median(theirs), p)]
    final = mine(report, case, "ddiht", runs)
    best = min(one.refits[case.ridge].objective for one in rivals)
    at_bar = case.loss == "squared-hinge" and case.k == 1000
    report.bar(f"{case}: objective / LIBLINEAR's best", final / best, FINAL_BAR[case.ridge] if at_bar else 1.0,
               least=runs[0].summary["dual_bound"] / best)
    if case.k == 1000 or arguments.quick:
        report.panels.append(panel(case, points))


def others(arguments: argparse.Namespace, report: Report, case: Case) -> None:
    """The libraries with an l1 penalty, and our baselines."""
    points = {}
    patience = QUICK_PATIENCE if arguments.quick else PATIENCE
    run = train(arguments, case, [])
    for name, make in l1.LIBRARIES.items():
        try:
            found = peer.search(make(case.data), case.k, SLACK, first=0.1, patience=patience)
            refit = peer.quickest_refit(case.data, found.support, case.loss, case.ridge)
        except Exception as error:  # whatever a library does not like is what we report of it
            report.skip(f"{name} on {case}", f"{type(error).__name__}: {error}")
            continue
        seconds = found.seconds + refit.seconds
        beside(report, case, f"{name} + refit", len(found.support), refit.objective, [seconds], [run],
               f"C {found.c:.6g} ({found.fits} fits), then LIBLINEAR {refit.option}")
        points[f"{name} + refit"] = [(seconds, refit.objective)]
    for algorithm in BASELINES:
        baseline = train(arguments, case, ["--algorithm", algorithm])
        p = mine(report, case, f"ddiht --algorithm {algorithm}", [baseline])
        report.lines[-1][-2:] = shares(run, p, baseline.seconds)
        points[algorithm] = baseline.history
    points["ddiht"] = run.history
    report.panels.append(panel(case, points))


def train(arguments: argparse.Namespace, case: Case, extra: list[str]) -> ours.Run:
    """Ours, on one thread."""
    return ours.train(arguments.ddiht, case.data, case.k, case.loss, case.ridge, [*extra, "--threads", "1"])


def beside(report: Report, case: Case, name: str, features: int, p: float, theirs: list[float], runs: list[ours.Run],
           setting: str) -> float:
    """Rows of a peer; the share of its time that we took to get below it (median of pairs)."""
    below = [run.seconds_below(p) for run in runs]
    share = median([ratio(mine, seconds) for mine, seconds in zip(below, theirs)])
    report.rows += [row(case, name, setting, at, features, p, seconds, below[at]) for at, seconds in enumerate(theirs)]
    report.lines.append(line(case, name, features, p, median(theirs), seconds_text(median(below)), f"{share:.3f}"))
    return share


def shares(run: ours.Run, p: float, seconds: float) -> list[str]:
    """When ours was below an objective, in seconds and as a share of somebody's time."""
    below = run.seconds_below(p)
    return [seconds_text(below), f"{ratio(below, seconds):.3f}"]


def mine(report: Report, case: Case, name: str, runs: list[ours.Run]) -> float:
    """Rows of ours; the objective in the end."""
    p = case.judged(runs[0].w)
    features = runs[0].summary["nnz"]
    report.rows += [row(case, name, run.command, at, features, p, run.seconds, "") for at, run in enumerate(runs)]
    report.lines.append(line(case, name, features, p, median([run.seconds for run in runs]), "", ""))
    report.commands.append(runs[0].command)
    return p


def row(case: Case, method: str, setting: str, repeat: int, features: int, p: float, seconds: float, below) -> dict:
    """One measurement in full."""
    return {"data": case.data.source.name, "rows": case.data.rows, "columns": case.data.features, "loss": case.loss,
            "k": case.k, "lambda": case.ridge, "method": method, "setting": setting, "repeat": repeat,
            "features": features, "objective": p, "seconds": seconds, "ours_below_after": below}


def line(case: Case, method: str, features: int, p: float, seconds: float, below: str, share: str) -> list[str]:
    """A line of the table."""
    return [case.data.source.name, case.loss, str(case.k), f"{case.ridge:g}", method, str(features), f"{p:.6f}",
            seconds_text(seconds), below, share]


def panel(case: Case, points: dict[str, list[tuple[float, float]]]) -> Panel:
    """Time against how far above the best objective of the case."""
    best = min(p for line in points.values() for _, p in line)
    above = {name: [(s, p / best - 1.0) for s, p in line if s > 0.0] for name, line in points.items()}
    return Panel(f"{case.data.source.name}, {case.loss},\nk = {case.k}, lambda = {case.ridge:g}", above)
