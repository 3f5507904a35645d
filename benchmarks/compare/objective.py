"""The objective of `ddiht`, computed by numpy: the judge of every model of a comparison.

    P(w) = (1/N) sum_i l(y_i x_i'w) + (lambda/2) ||w||^2
"""

import numpy as np

from datasets import Dataset


def objective(data: Dataset, w: np.ndarray, loss: str, ridge: float) -> float:
    """P(w) for `hinge` or `squared-hinge`."""
    slack = np.maximum(0.0, 1.0 - data.y * (data.x @ w))
    losses = slack if loss == "hinge" else slack * slack
    return float(losses.mean() + 0.5 * ridge * (w @ w))
