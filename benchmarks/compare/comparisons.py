"""The comparisons: each measures, judges by the same objective, records and checks."""

import argparse
from collections.abc import Iterator

import ours
import peer
import record
from datasets import SOURCES, Dataset, load
from objective import objective

K = 1000
EQUAL = 1e-4
L1_BAR = 0.92
L1_BAR_RIDGE = 1e-5
CONVEX_HEADER = ["data", "loss", "P ours", "P LIBLINEAR", "difference", "gap", "s ours", "s LIBLINEAR",
                 "equal"]
L1_HEADER = ["data", "lambda", "P ours", "P l1 + refit", "ratio", "bound / P l1", "features ours",
             "features l1", "s ours", "s l1", "ratio at most 0.92"]
TABLE_HEADER = ["data", "loss", "objective", "bound", "gap", "non-zeros", "seconds",
                "l1 + refit: objective", "non-zeros", "seconds"]


def run(arguments: argparse.Namespace) -> int:
    """Run the comparison that was asked for; 1 when a check failed."""
    comparison = {"convex": convex, "l1": l1, "table": table}[arguments.comparison]
    return comparison(arguments)


def datasets(arguments: argparse.Namespace, names: list[str]) -> Iterator[Dataset]:
    """The data sets of a comparison, one in memory at a time."""
    wanted = arguments.only or names
    for source in SOURCES:
        if source.name in wanted and source.name in names:
            yield load(source, arguments.data)


def finish(arguments: argparse.Namespace, title: str, rows: list[dict], summary: str) -> None:
    """Record a run, and print its summary."""
    commands = [f"python3 benchmarks/liblinear.py {arguments.comparison}"]
    commands += [row["command"] for row in rows]
    commands += [row["bound_command"] for row in rows if row.get("bound_command")]
    directory = record.write(arguments.name or arguments.comparison, title, rows, summary, commands)
    print(f"{summary}\nrecorded in {directory.relative_to(record.ROOT)}")


def convex(arguments: argparse.Namespace) -> int:
    """k = d: both solve the same convex problem, so the optima must agree and our bound lie below both."""
    rows = []
    for data in datasets(arguments, ["reuters", "imdb", "ng20"]):
        for loss in ("squared-hinge", "hinge"):
            rows.append(convex_row(arguments, data, loss))
    lines = [
        [r["data"], r["loss"], f"{r['objective']:.7f}", f"{r['peer_objective']:.7f}",
         f"{r['difference']:.1e}", f"{r['gap']:.1e}", f"{r['seconds']:.2f}", f"{r['peer_seconds']:.2f}",
         "yes" if r["passed"] else "NO"]
        for r in rows
    ]
    finish(arguments, "k = d against LIBLINEAR -s 1 and -s 3", rows, record.markdown(CONVEX_HEADER, lines))
    return 0 if all(r["passed"] for r in rows) else 1


def convex_row(arguments: argparse.Namespace, data: Dataset, loss: str) -> dict:
    """One data set and loss."""
    ridge = 1e-4
    fit = peer.converge(data, loss, ridge)
    run = ours.train(arguments.ddiht, data, data.features, loss, ridge, ["--gap", "1e-4"])
    p = objective(data, run.w, loss, ridge)
    difference = p / fit.objective - 1.0
    return {
        "data": data.source.name,
        "rows": data.rows,
        "features": data.features,
        "loss": loss,
        "lambda": ridge,
        "objective": p,
        "reported": run.summary["objective"],
        "peer_objective": fit.objective,
        "difference": difference,
        "bound": run.summary["dual_bound"],
        "gap": run.summary["gap"],
        "seconds": run.summary["seconds"]["train"],
        "peer_seconds": fit.seconds,
        "passed": abs(difference) <= EQUAL
                  and run.summary["gap"] <= EQUAL
                  and run.summary["dual_bound"] <= fit.objective,
        "peer": f"train {fit.option}",
        "command": run.command,
    }


def l1(arguments: argparse.Namespace) -> int:
    """k = 1000 against what people do today; the bar holds at lambda = 1e-5.

    No model with k features can have a ratio below "bound / P l1": it is the proved bound over theirs.
    """
    rows = []
    for data in datasets(arguments, ["imdb", "imdb-tfidf", "ng20"]):
        search = peer.search_l1(data, K, arguments.l1_tolerance)
        for ridge in (L1_BAR_RIDGE, 1e-4):
            row = sparse_row(arguments, data, "squared-hinge", ridge, search)
            if ridge == L1_BAR_RIDGE and not below_bar(row):
                row |= sharper_bound(arguments, data, row)
            rows.append(row)
    lines = [
        [r["data"], f"{r['lambda']:g}", f"{r['objective']:.6f}", f"{r['peer_objective']:.6f}",
         f"{r['ratio']:.4f}", f"{r['least_ratio']:.4f}", str(r["nnz"]), str(r["peer_nnz"]), f"{r['seconds']:.2f}",
         f"{r['peer_seconds']:.2f}", verdict(r)]
        for r in rows
    ]
    finish(arguments, "k = 1000 against LIBLINEAR -s 5 searched to k and refitted", rows,
           record.markdown(L1_HEADER, lines))
    return 0 if all(below_bar(r) for r in rows if r["lambda"] == L1_BAR_RIDGE) else 1


def sharper_bound(arguments: argparse.Namespace, data: Dataset, row: dict) -> dict:
    """What a long dual phase can prove about the ratio: a missed bar may be out of reach for any model."""
    extra = ["--gap", "0", "--rounds", "400"]
    run = ours.train(arguments.ddiht, data, K, row["loss"], row["lambda"], extra)
    bound = run.summary["dual_bound"]
    return {"least_ratio": bound / row["peer_objective"], "bound_command": run.command}


def verdict(row: dict) -> str:
    """The last column of the l1 summary."""
    if row["lambda"] != L1_BAR_RIDGE:
        return "no bar"
    if row["least_ratio"] > L1_BAR:
        return "NO: proved impossible"
    return "yes" if below_bar(row) else "NO"


def below_bar(row: dict) -> bool:
    """Whether our objective is low enough."""
    return row["ratio"] <= L1_BAR


def sparse_row(
    arguments: argparse.Namespace, data: Dataset, loss: str, ridge: float, search: peer.Search
) -> dict:
    """One data set, loss and lambda at k features; the search is for the squared hinge, as -s 5 has only that."""
    fit = peer.refit(data, search.support, loss, ridge)
    run = ours.train(arguments.ddiht, data, K, loss, ridge, [])
    p = objective(data, run.w, loss, ridge)
    return {
        "data": data.source.name,
        "rows": data.rows,
        "features": data.features,
        "loss": loss,
        "lambda": ridge,
        "objective": p,
        "reported": run.summary["objective"],
        "bound": run.summary["dual_bound"],
        "gap": run.summary["gap"],
        "nnz": run.summary["nnz"],
        "seconds": run.summary["seconds"]["train"],
        "stopped": run.summary["stopped"],
        "peer_objective": fit.objective,
        "peer_nnz": len(search.support),
        "peer_seconds": search.seconds + fit.seconds,
        "ratio": p / fit.objective,
        "least_ratio": run.summary["dual_bound"] / fit.objective,
        "peer": f"train -s 5 -c {search.c:.10g} -e {arguments.l1_tolerance:g} ({search.fits} fits), "
                f"then train {fit.option}",
        "command": run.command,
        "bound_command": "",
    }


def table(arguments: argparse.Namespace) -> int:
    """The results table of the README."""
    rows = []
    for data in datasets(arguments, ["reuters", "imdb", "ng20"]):
        search = peer.search_l1(data, K, arguments.l1_tolerance)
        losses = ["squared-hinge", "hinge"] if data.source.name == "imdb" else ["squared-hinge"]
        rows += [sparse_row(arguments, data, loss, 1e-4, search) for loss in losses]
    lines = [
        [f"{r['data']} {r['rows']} x {r['features']}", r["loss"], f"{r['objective']:.5f}",
         f"{r['bound']:.5f}", f"{100 * r['gap']:.2f} %",
         str(r["nnz"]), f"{r['seconds']:.1f}", f"{r['peer_objective']:.5f}", str(r["peer_nnz"]),
         f"{r['peer_seconds']:.1f}"]
        for r in rows
    ]
    finish(arguments, "Results at k = 1000, lambda = 1e-4", rows, record.markdown(TABLE_HEADER, lines))
    return 0
