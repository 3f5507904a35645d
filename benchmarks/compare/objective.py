"""The objective of `ddiht`, computed by numpy: the judge of every model of a comparison.

    P(w) = (1/N) sum_i l(x_i'w, y_i) + (lambda/2) ||w||^2
"""

import numpy as np

from datasets import Dataset


def objective(data: Dataset, w: np.ndarray, loss: str, ridge: float) -> float:
    """P(w) for `hinge`, `squared-hinge`, `logistic` or `squared`."""
    return float(losses(data.y, data.x @ w, loss).mean() + 0.5 * ridge * (w @ w))


def losses(y: np.ndarray, scores: np.ndarray, loss: str) -> np.ndarray:
    """The loss of every row."""
    if loss == "squared":
        return (y - scores) ** 2
    if loss == "logistic":
        return np.logaddexp(0.0, -y * scores)
    slack = np.maximum(0.0, 1.0 - y * scores)
    return slack if loss == "hinge" else slack * slack
