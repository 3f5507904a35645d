"""Logistic models with an l1 penalty by other libraries than LIBLINEAR: the features at a given C.

C weighs the sum of losses against ||w||_1, as in LIBLINEAR. Libraries that can start from the last solution do.
"""

from collections.abc import Callable

import numpy as np
from scipy import sparse

from datasets import Dataset
from libraries import clocked

# The support at a C, and the seconds it took.
Features = Callable[[float], tuple[np.ndarray, float]]


def celer(data: Dataset) -> Features:
    """celer's prox-Newton with working sets, warm-started."""
    from celer import LogisticRegression

    made = LogisticRegression(fit_intercept=False, warm_start=True, tol=1e-2)
    return features(made, sparse.csc_matrix(data.x), data.y, lambda c: {"C": c})


def skglm(data: Dataset) -> Features:
    """skglm's prox-Newton with working sets, warm-started."""
    from skglm import SparseLogisticRegression

    made = SparseLogisticRegression(fit_intercept=False, warm_start=True, tol=1e-6, max_iter=50)
    return features(made, sparse.csc_matrix(data.x), data.y, lambda c: {"alpha": 1.0 / (c * data.rows)})


def snapml(data: Dataset) -> Features:
    """snapml's primal coordinate descent, from zero each time: it has no warm start."""
    from snapml import LogisticRegression

    made = LogisticRegression(penalty="l1", dual=False, fit_intercept=False, n_jobs=1, tol=1e-3, random_state=0)
    return features(made, data.x.astype(np.float32), data.y, lambda c: {"regularizer": 1.0 / c})


def saga(data: Dataset) -> Features:
    """scikit-learn's SAGA, warm-started."""
    from sklearn.linear_model import LogisticRegression

    made = LogisticRegression(l1_ratio=1.0, solver="saga", fit_intercept=False, warm_start=True, tol=1e-2, max_iter=200,
                              random_state=0)
    return features(made, data.x, data.y, lambda c: {"C": c})


LIBRARIES = {"celer": celer, "skglm": skglm, "snapml l1": snapml, "scikit-learn saga l1": saga}


def features(estimator, x, y: np.ndarray, settings: Callable[[float], dict]) -> Features:
    """The estimator as a function of C, once compiled."""
    rows = np.concatenate([np.flatnonzero(y > 0)[:50], np.flatnonzero(y < 0)[:50]])
    few = type(estimator)(**estimator.get_params())
    few.set_params(**settings(1.0)).fit(x.tocsr()[rows].asformat(x.format), y[rows])

    def at(c: float) -> tuple[np.ndarray, float]:
        w, seconds = clocked(estimator.set_params(**settings(c)), x, y)
        return np.flatnonzero(w), seconds

    return at


