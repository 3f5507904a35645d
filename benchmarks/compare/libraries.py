"""Ridge models by snapml and scikit-learn, with the objective of `ddiht`.

Both weigh the sum of losses against the penalty: C of scikit-learn is 1/(lambda N), `regularizer` of snapml lambda N.
A fit is given the data in the form that its library likes best, made beforehand; what it converts itself counts.
"""

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from liblinear.liblinearutil import problem

import peer
from datasets import Dataset

# Weights at a tolerance, and the seconds they took.
Fitter = Callable[[float], tuple[np.ndarray, float]]


@dataclass(frozen=True)
class Library:
    """A way to fit, and the tolerances to try from loose to tight."""

    name: str
    setting: str
    fit: Fitter
    tolerances: list[float]


def liblinear(data: Dataset, loss: str, ridge: float, primal: bool = False) -> Library:
    """LIBLINEAR, dual or primal."""
    solver = (peer.PRIMAL_SOLVER if primal else peer.DUAL_SOLVER)[loss]
    task = problem(data.y, data.x)

    def fit(tolerance: float):
        return peer.fit(task, peer.ridge_option(solver, data.rows, ridge, tolerance))

    return Library(f"LIBLINEAR {'primal' if primal else 'dual'}", f"-s {solver} -e", fit, peer.TOLERANCES)


def snapml(data: Dataset, loss: str, ridge: float, threads: int) -> Library:
    """snapml's dual solvers."""
    import snapml

    common = {"regularizer": ridge * data.rows, "n_jobs": threads, "fit_intercept": False, "random_state": 0,
              "max_iter": 2000}
    x = data.x.astype(np.float32)

    def fit(tolerance: float):
        if loss == "logistic":
            made = snapml.LogisticRegression(dual=True, tol=tolerance, **common)
        else:
            made = snapml.SupportVectorMachine(loss=loss.replace("-", "_"), tol=tolerance, **common)
        return clocked(made, x, data.y)

    kind = "LogisticRegression(dual)" if loss == "logistic" else "SupportVectorMachine"
    return Library("snapml", f"{kind} n_jobs={threads} tol", fit, peer.TOLERANCES)


def sklearn(data: Dataset, loss: str, ridge: float) -> list[Library]:
    """The solvers of scikit-learn that have this objective."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import LinearSVC

    c = 1.0 / (ridge * data.rows)

    def svc(tolerance: float):
        made = LinearSVC(loss=loss.replace("-", "_"), dual=True, C=c, fit_intercept=False, tol=tolerance, max_iter=5000,
                         random_state=0)
        return clocked(made, data.x, data.y)

    if loss != "logistic":
        return [Library("scikit-learn", "LinearSVC tol", svc, peer.TOLERANCES)]

    def logistic(solver: str) -> Fitter:
        def fit(tolerance: float):
            made = LogisticRegression(C=c, solver=solver, fit_intercept=False, tol=tolerance, max_iter=5000,
                                      random_state=0, **({"dual": True} if solver == "liblinear" else {}))
            return clocked(made, data.x, data.y)

        return fit

    return [Library("scikit-learn", f"LogisticRegression {solver} tol", logistic(solver), peer.TOLERANCES)
            for solver in ("liblinear", "newton-cg", "lbfgs", "saga")]


def clocked(estimator, x, y: np.ndarray) -> tuple[np.ndarray, float]:
    """Weights and seconds of an estimator; its warnings are about accuracy, which we judge ourselves."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.perf_counter()
        estimator.fit(x, y)
        seconds = time.perf_counter() - start
    return np.asarray(estimator.coef_, dtype=np.float64).ravel(), seconds
