"""LIBLINEAR: ridge models to high accuracy, and l1 models searched to a number of features.

LIBLINEAR minimises ||w||^2/2 + C sum_i l_i. Our P divided by lambda is the same with C = 1/(lambda N), for
the hinge and for the squared hinge alike (LIBLINEAR does not halve the square).
"""

import ctypes
import math
import time
from dataclasses import dataclass, replace

import numpy as np
from liblinear.liblinearutil import problem, train
from scipy import sparse

from datasets import Dataset
from objective import objective

DUAL_SOLVER = {"squared-hinge": 1, "hinge": 3}
# A change of the objective, relative, that ends the tightening of -e.
STABLE = 1e-6
STABLE_REFIT = 1e-8


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


def fit(task: problem, option: str) -> np.ndarray:
    """The weights in the sense of label +1 (LIBLINEAR's is that of the first row)."""
    # LIBLINEAR visits features in the order of the C library's generator: the same for every fit.
    ctypes.CDLL(None).srand(1)
    model = train(task, f"{option} -q")
    w = np.ctypeslib.as_array(model.w, (model.nr_feature,)).copy()
    return w if model.label[0] > 0 else -w


def converge(data: Dataset, loss: str, ridge: float, stable: float = STABLE) -> Fit:
    """Tighten -e by tens until the objective moves by less than `stable` of itself."""
    start = time.perf_counter()
    task = problem(data.y, data.x)
    c = 1.0 / (ridge * data.rows)
    before = math.inf
    for exponent in range(1, 12):
        option = f"-s {DUAL_SOLVER[loss]} -c {c:.17g} -e 1e-{exponent}"
        w = fit(task, option)
        now = objective(data, w, loss, ridge)
        if abs(before - now) <= stable * now:
            break
        before = now
    return Fit(w, now, time.perf_counter() - start, option)


def search_l1(data: Dataset, k: int, tolerance: float) -> Search:
    """The C of -s 5 with at most and as near as possible to k non-zeros, by bisection of log C."""
    start = time.perf_counter()
    task = problem(data.y, data.x)
    best, fits = (np.empty(0, np.int64), 0.0), 0
    low, high = None, None
    c = 1.0
    while fits < 60 and (low is None or high is None or high / low > 1.0 + 1e-7):
        support = np.flatnonzero(fit(task, f"-s 5 -c {c:.17g} -e {tolerance:g}"))
        fits += 1
        if len(support) <= k:
            low = c
            if len(support) > len(best[0]):
                best = (support, c)
        else:
            high = c
        if len(support) == k:
            break
        c = next_c(low, high)
    return Search(best[0], best[1], time.perf_counter() - start, fits)


def next_c(low: float | None, high: float | None) -> float:
    """The middle of the bracket, or a step of four towards the side that is still open."""
    if low is None:
        return high / 4.0
    if high is None:
        return low * 4.0
    return math.sqrt(low * high)


def refit(data: Dataset, support: np.ndarray, loss: str, ridge: float) -> Fit:
    """The ridge model on these columns alone, converged."""
    restricted = sparse.csr_matrix(data.x[:, support])
    return converge(replace(data, x=restricted), loss, ridge, STABLE_REFIT)
