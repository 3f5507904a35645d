"""LIBLINEAR: ridge models to a wanted accuracy, and l1 models searched to a number of features.

LIBLINEAR minimises ||w||^2/2 + C sum_i l_i. Our P divided by lambda is the same with C = 1/(lambda N), for
every loss alike (LIBLINEAR does not halve the square). Seconds are those of its own `train`, without the conversion
of the data to its format.
"""

import ctypes
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from liblinear.liblinearutil import problem, train
from scipy import sparse

from datasets import Dataset
from objective import objective

DUAL_SOLVER = {"squared-hinge": 1, "hinge": 3, "logistic": 7}
PRIMAL_SOLVER = {"squared-hinge": 2, "logistic": 0}
L1_SOLVER = {"squared-hinge": 5, "logistic": 6}
# A change of the objective, relative, that ends the tightening of -e.
STABLE = 1e-6
STABLE_REFIT = 1e-8
# -e from loose to tight.
TOLERANCES = [float(f"{m}e{e}") for e in range(1, -9, -1) for m in (3, 1)]
# How near a refit that is timed comes to the optimum of its support, relative.
NEAR_REFIT = 1e-5


@dataclass(frozen=True)
class Fit:
    """A model of LIBLINEAR with its cost."""

    w: np.ndarray
    objective: float
    seconds: float
    option: str


@dataclass(frozen=True)
class Search:
    """A support found by the l1 penalty."""

    support: np.ndarray
    c: float
    seconds: float
    fits: int


def fit(task: problem, option: str) -> tuple[np.ndarray, float]:
    """The weights in the sense of label +1 (LIBLINEAR's is that of the first row), and the seconds they took."""
    # LIBLINEAR visits features in the order of the C library's generator: the same for every fit.
    ctypes.CDLL(None).srand(1)
    start = time.perf_counter()
    model = train(task, f"{option} -q")
    seconds = time.perf_counter() - start
    w = np.ctypeslib.as_array(model.w, (model.nr_feature,)).copy()
    return (w if model.label[0] > 0 else -w), seconds


def ridge_option(solver: int, rows: int, ridge: float, tolerance: float) -> str:
    """The options of a ridge fit."""
    return f"-s {solver} -c {1.0 / (ridge * rows):.17g} -e {tolerance:g}"


def converge(data: Dataset, loss: str, ridge: float, stable: float = STABLE) -> Fit:
    """Tighten -e by tens until the objective moves by less than `stable` of itself."""
    task = problem(data.y, data.x)
    before, seconds = math.inf, 0.0
    for exponent in range(1, 12):
        option = ridge_option(DUAL_SOLVER[loss], data.rows, ridge, 10.0**-exponent)
        w, took = fit(task, option)
        seconds += took
        now = objective(data, w, loss, ridge)
        if abs(before - now) <= stable * now:
            break
        before = now
    return Fit(w, now, seconds, option)


def search(features: Callable[[float], tuple[np.ndarray, float]], k: int, slack: float = 0.0, first: float = 1.0,
           patience: float = math.inf) -> Search:
    """The C with at most and as near as possible to k features, by bisection of log C.

    `features` gives the support at a C and the seconds that took. A support of (1 - slack) k is near enough, and after
    `patience` seconds the best so far has to do.
    """
    best, fits, seconds = (np.empty(0, np.int64), 0.0), 0, 0.0
    low, high = None, None
    c = first
    while fits < 60 and (low is None or high is None or high / low > 1.0 + 1e-7):
        support, took = features(c)
        fits, seconds = fits + 1, seconds + took
        if len(support) <= k:
            low = c
            if len(support) > len(best[0]):
                best = (support, c)
        else:
            high = c
        if (1.0 - slack) * k <= len(support) <= k or seconds > patience:
            break
        c = next_c(low, high)
    return Search(best[0], best[1], seconds, fits)


def search_l1(data: Dataset, k: int, tolerance: float, loss: str = "squared-hinge", slack: float = 0.0) -> Search:
    """The l1 penalty of LIBLINEAR searched to k features. It has no warm starts for these solvers."""
    task = problem(data.y, data.x)

    def features(c: float) -> tuple[np.ndarray, float]:
        w, seconds = fit(task, f"-s {L1_SOLVER[loss]} -c {c:.17g} -e {tolerance:g}")
        return np.flatnonzero(w), seconds

    return search(features, k, slack)


def next_c(low: float | None, high: float | None) -> float:
    """The middle of the bracket, or a step of four towards the side that is still open."""
    if low is None:
        return high / 4.0
    if high is None:
        return low * 4.0
    return math.sqrt(low * high)


def restrict(data: Dataset, support: np.ndarray) -> Dataset:
    """The same rows with these columns alone."""
    return replace(data, x=sparse.csr_matrix(data.x[:, support]))


def refit(data: Dataset, support: np.ndarray, loss: str, ridge: float) -> Fit:
    """The ridge model on these columns alone, converged."""
    return converge(restrict(data, support), loss, ridge, STABLE_REFIT)


def quickest_refit(data: Dataset, support: np.ndarray, loss: str, ridge: float) -> Fit:
    """The ridge model on these columns by the solver and -e that get near its optimum soonest.

    Only the one fit with that choice is counted, not the trials that led to it.
    """
    narrow = restrict(data, support)
    optimum = converge(narrow, loss, ridge, STABLE_REFIT).objective
    task = problem(narrow.y, narrow.x)
    solvers = [DUAL_SOLVER[loss], *([PRIMAL_SOLVER[loss]] if loss in PRIMAL_SOLVER else [])]
    fits = []
    for solver in solvers:
        for tolerance in TOLERANCES:
            option = ridge_option(solver, data.rows, ridge, tolerance)
            w, seconds = fit(task, option)
            p = objective(narrow, w, loss, ridge)
            if p <= (1.0 + NEAR_REFIT) * optimum:
                fits.append(Fit(w, p, seconds, option))
                break
    return min(fits, key=lambda one: one.seconds)
