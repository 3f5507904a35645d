"""k = d: who comes within 1e-3 of the optimum soonest.

Every peer gets the loosest tolerance with which its model is within 1e-3 of the optimum, relative; we stop by a proved
gap of 1e-3, which takes longer than to be that near: "within 1e-3 after" says when we were, by one more run that writes a
history. Then all are timed in turn.
"""

import argparse
from dataclasses import dataclass

import libraries
import ours
import peer
from datasets import Dataset
from libraries import Library
from objective import objective
from parts import sources
from picture import Panel
from tally import Report, interleaved, median, ratio, seconds_text

NEAR = 1e-3
RIDGE = 1e-4
LOSSES = ["squared-hinge", "hinge", "logistic"]
# Seconds of one fit after which a tighter tolerance is not tried.
PATIENCE = 120.0
HEADER = ["data", "loss", "method", "setting", "above the optimum", "within 1e-3 after", "seconds", "/ LIBLINEAR dual"]


@dataclass(frozen=True)
class Choice:
    """A library with the loosest tolerance that is near enough."""

    library: Library
    tolerance: float
    points: list[tuple[float, float]]

    @property
    def seconds(self) -> float:
        """Of the fit that was near enough."""
        return self.points[-1][0]

    @property
    def setting(self) -> str:
        """What the library was told."""
        return f"{self.library.setting} {self.tolerance:g}"


class NotReached(Exception):
    """No tolerance came near enough."""


def run(arguments: argparse.Namespace) -> Report:
    """All data sets and losses."""
    report = Report("convex", "k = d: time to within 1e-3 of the optimum", HEADER,
                    "by the name of the method; LIBLINEAR and scikit-learn use one, snapml two")
    for data in sources.convex(arguments):
        for loss in LOSSES:
            compare(arguments, report, data, loss)
    return report


def compare(arguments: argparse.Namespace, report: Report, data: Dataset, loss: str) -> None:
    """One data set and loss."""
    optimum = peer.converge(data, loss, RIDGE).objective
    choices = chosen(report, data, loss, optimum)

    def mine(threads: int, history: bool = False):
        return ours.train(arguments.ddiht, data, data.features, loss, RIDGE,
                          ["--gap", f"{NEAR:g}", "--threads", str(threads)], history)

    calls = {name: (lambda c=choice: c.library.fit(c.tolerance)) for name, choice in choices.items()}
    threads = {f"ddiht, {t} thread{'s' * (t > 1)}": t for t in (1, 2)}
    calls |= {name: (lambda t=t: mine(t)) for name, t in threads.items()}
    results = interleaved(arguments.repeats, calls)
    lines = {name: relative(choice.points, optimum) for name, choice in choices.items()}
    seconds = {}
    for name, runs in results.items():
        if name in choices:
            fits, setting = runs, choices[name].setting
            near = [s for _, s in fits]
        else:
            fits, setting = [(run.w, run.seconds) for run in runs], f"--gap {NEAR:g}"
            told = mine(threads[name], history=True)
            near = [told.seconds_below((1.0 + NEAR) * optimum)] * len(runs)
            lines[name] = relative(told.history, optimum)
            report.commands.append(runs[0].command)
        above = [objective(data, w, loss, RIDGE) / optimum - 1.0 for w, _ in fits]
        seconds[name] = median([s for _, s in fits])
        report.rows += [{"data": data.source.name, "rows": data.rows, "features": data.features, "loss": loss,
                         "lambda": RIDGE, "method": name, "setting": setting, "repeat": at, "seconds": s,
                         "near_after": near[at], "above": above[at], "optimum": optimum} for at, (_, s) in enumerate(fits)]
        if name not in choices:
            report.bar(f"{data.source.name} {loss}: {name}, above the optimum", max(above), NEAR)
        report.lines.append([data.source.name, loss, name, setting, f"{max(above):.1e}",
                             seconds_text(median(near)), seconds_text(seconds[name]), ""])
    for line in report.lines[-len(results):]:
        line[-1] = f"{ratio(seconds[line[2]], seconds['LIBLINEAR dual']):.2f}"
    judge(report, f"{data.source.name} {loss}", seconds)
    report.panels.append(Panel(f"{data.source.name}, {loss}", lines))


def judge(report: Report, case: str, seconds: dict[str, float]) -> None:
    """The bars of a case."""
    one, two = seconds["ddiht, 1 thread"], seconds["ddiht, 2 threads"]
    report.bar(f"{case}: 1 thread / LIBLINEAR dual", ratio(one, seconds["LIBLINEAR dual"]), 1.0, timed=True)
    report.bar(f"{case}: 2 threads / LIBLINEAR dual", ratio(two, seconds["LIBLINEAR dual"]), 0.6, timed=True)
    if "snapml" in seconds:
        report.bar(f"{case}: 2 threads / snapml, 2 threads", ratio(two, seconds["snapml"]), 0.8, timed=True)


def chosen(report: Report, data: Dataset, loss: str, optimum: float) -> dict[str, Choice]:
    """The libraries that come near enough, each with its setting; of scikit-learn's solvers the quickest."""
    makers = {
        "LIBLINEAR dual": lambda: [libraries.liblinear(data, loss, RIDGE)],
        "LIBLINEAR primal": lambda: [libraries.liblinear(data, loss, RIDGE, primal=True)] if loss != "hinge" else [],
        "snapml": lambda: [libraries.snapml(data, loss, RIDGE, threads=2)],
        "scikit-learn": lambda: libraries.sklearn(data, loss, RIDGE),
    }
    choices = {}
    for name, make in makers.items():
        try:
            found = quickest(report, make(), data, loss, optimum)
        except ImportError as error:
            report.skip(name, error)
            continue
        if found:
            choices[name] = found
    return choices


def quickest(report: Report, candidates: list[Library], data: Dataset, loss: str, optimum: float) -> Choice | None:
    """The candidate that was near enough soonest."""
    reached, failed, limit = [], [], PATIENCE
    for library in candidates:
        try:
            reached.append(loosest(library, data, loss, optimum, limit))
            limit = min(limit, 2.0 * reached[-1].seconds)
        except NotReached as error:
            failed.append((library, error))
    if not reached:
        for library, error in failed:
            report.skip(f"{library.name}, {library.setting} on {data.source.name} {loss}", error)
    return min(reached, key=lambda choice: choice.seconds, default=None)


def loosest(library: Library, data: Dataset, loss: str, optimum: float, limit: float) -> Choice:
    """Tighten the tolerance until the model is near enough."""
    points = []
    for tolerance in library.tolerances:
        w, seconds = library.fit(tolerance)
        p = objective(data, w, loss, RIDGE)
        points.append((seconds, p))
        if p <= (1.0 + NEAR) * optimum:
            return Choice(library, tolerance, points)
        if seconds > limit:
            raise NotReached(f"{p / optimum - 1.0:.1e} above the optimum after {seconds:.0f} s at {tolerance:g}")
    raise NotReached(f"{points[-1][1] / optimum - 1.0:.1e} above the optimum at {tolerance:g}, its tightest")


def relative(points: list[tuple[float, float]], optimum: float) -> list[tuple[float, float]]:
    """Seconds, and how far above the optimum."""
    return [(seconds, p / optimum - 1.0) for seconds, p in points if seconds > 0.0]
