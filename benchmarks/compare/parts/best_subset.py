"""k features against best-subset solvers, at sizes they can finish.

abess and skscope have the logistic loss, OKRidge the squared one.

A peer's model counts with the better of its own weights and a converged refit of its support, and the refit is free.
Each runs in a process of its own, which is ended after `LIMIT` seconds: there is no bar then. OKRidge is told a limit
itself and gives the best it has.
"""

import argparse
import multiprocessing
import queue
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import ours
import peer
import subset_solvers
from datasets import Dataset, Source, load_text, text_source
from objective import objective
from parts import sources
from picture import Panel
from tally import Report, interleaved, median, ratio, seconds_text

RIDGE = 1e-4
# Their time over ours, and how far above theirs our objective may be.
SHARE_BAR = 0.01
EQUAL = 1e-5
LIMIT, QUICK_LIMIT = 900, 15
HEADER = ["data", "loss", "k", "method", "features", "objective", "seconds", "ours as good after", "share of its time"]


@dataclass(frozen=True)
class Case:
    """Rows, columns, loss, k and the solvers that take them on."""

    rows: int
    columns: int
    loss: str
    k: int
    solvers: dict[str, Callable]

    @property
    def source(self) -> Source:
        """Its data."""
        return text_source(self.rows, self.columns)


LOGISTIC = {"abess, sparse": subset_solvers.abess, "abess, dense": subset_solvers.abess_dense,
            "skscope": subset_solvers.skscope}
CASES = [Case(16_000, 2_000, "logistic", 200, LOGISTIC), Case(16_000, 10_000, "logistic", 200, LOGISTIC),
         Case(4_000, 1_000, "squared", 50, {"OKRidge": subset_solvers.okridge})]
QUICK_CASES = [Case(2_000, 500, "logistic", 20, LOGISTIC),
               Case(1_000, 100, "squared", 5, {"OKRidge": subset_solvers.okridge})]


def run(arguments: argparse.Namespace) -> Report:
    """All cases."""
    report = Report("best-subset", "k features against best-subset solvers", HEADER,
                    "ddiht and abess one; skscope's and OKRidge's libraries use what they like")
    for case in QUICK_CASES if arguments.quick else CASES:
        if sources.is_asked_for(arguments, case.source):
            compare(arguments, report, case)
    return report


def compare(arguments: argparse.Namespace, report: Report, case: Case) -> None:
    """One case: ours and theirs in turn. Theirs take long, so they run once whatever the repeats."""
    data = load_text(case.source, arguments.ddiht)
    limit = QUICK_LIMIT if arguments.quick else LIMIT
    mine = {"ddiht": lambda: ours.train(arguments.ddiht, data, case.k, case.loss, RIDGE, ["--threads", "1"])}
    runs = interleaved(arguments.repeats, mine)["ddiht"]
    final = objective(data, runs[0].w, case.loss, RIDGE)
    lines = {"ddiht": runs[0].history}
    for name, solver in case.solvers.items():
        seconds, w = limited(report, name, solver, data, case, limit)
        if w is None:
            continue
        p = judged(data, w, case)
        below = median([run.seconds_below((1.0 + EQUAL) * p) for run in runs])
        add(report, case, data, name, int(np.count_nonzero(w)), p, seconds, below)
        lines[name] = [(seconds, p)]
        title = f"{data.source.name} k {case.k}, {name}"
        if seconds < subset_solvers.OWN_LIMIT * limit:
            report.bar(f"{title}: our time to its objective / its time", ratio(below, seconds), SHARE_BAR, timed=True)
        else:
            report.skip(f"the time of {title}", f"it ended by its limit of {seconds:.0f} s, with the model shown")
        report.bar(f"{title}: our objective / its objective", final / p, 1.0 + EQUAL)
    add(report, case, data, "ddiht", runs[0].summary["nnz"], final, median([run.seconds for run in runs]), None)
    report.commands.append(runs[0].command)
    best = min(p for line in lines.values() for _, p in line)
    report.panels.append(Panel(f"{data.source.name}, {case.loss}, k = {case.k}", {
        name: [(s, p / best - 1.0) for s, p in line if s > 0.0] for name, line in lines.items()}))


def judged(data: Dataset, w: np.ndarray, case: Case) -> float:
    """The better of the weights as they are and of a refit."""
    as_is = objective(data, w, case.loss, RIDGE)
    support = np.flatnonzero(w)
    if case.loss == "squared":
        return min(as_is, objective(data, squared_refit(data, support), case.loss, RIDGE))
    return min(as_is, peer.refit(data, support, case.loss, RIDGE).objective)


def squared_refit(data: Dataset, support: np.ndarray) -> np.ndarray:
    """Least squares with the ridge on a support, by its normal equations."""
    part = data.x[:, support].toarray()
    gram = 2.0 * part.T @ part / data.rows + RIDGE * np.eye(len(support))
    w = np.zeros(data.features)
    w[support] = np.linalg.solve(gram, 2.0 * part.T @ data.y / data.rows)
    return w


def limited(report: Report, name: str, solver: Callable, data: Dataset, case: Case, limit: float):
    """Seconds and weights of a solver in a process of its own; none where it failed or did not end in time."""
    context = multiprocessing.get_context("spawn")
    answers = context.Queue()
    child = context.Process(target=answer, args=(answers, solver, data.x, data.y, case.k, RIDGE, limit))
    child.start()
    try:
        kind, *rest = answers.get(timeout=limit)
    except queue.Empty:
        kind, rest = "error", [f"it did not end in {limit} s"]
    child.terminate()
    child.join()
    if kind == "error":
        report.skip(f"{name} on {data.source.name}", rest[0])
        return None, None
    return rest[0], rest[1]


def answer(answers, solver: Callable, x, y: np.ndarray, k: int, ridge: float, limit: float) -> None:
    """In the child: solve, and send what came out."""
    try:
        answers.put(("done", *solver(x, y, k, ridge, limit)))
    except Exception as error:  # whatever a peer does not like is what we report of it
        answers.put(("error", f"{type(error).__name__}: {error}"))


def add(report: Report, case: Case, data: Dataset, method: str, features: int, p: float, seconds: float,
        below: float | None) -> None:
    """A row of the record and a line of the table."""
    report.rows.append({"data": data.source.name, "loss": case.loss, "k": case.k, "lambda": RIDGE, "method": method,
                        "features": features, "objective": p, "seconds": seconds, "ours_below_after": below})
    shares = ["", ""] if below is None else [seconds_text(below), f"{ratio(below, seconds):.2g}"]
    report.lines.append([data.source.name, case.loss, str(case.k), method, str(features), f"{p:.6f}", seconds_text(seconds),
                         *shares])
