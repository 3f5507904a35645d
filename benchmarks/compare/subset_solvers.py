"""Best-subset solvers of others: seconds and weights for rows x, labels y, k features and lambda.

The limit is one of seconds, for those that can end early.

Each is timed without the start of its libraries, and compiled where it compiles.
"""

import contextlib
import io
import time

import numpy as np

# What a solver that can end by itself is given of the seconds after which it is ended.
OWN_LIMIT = 0.5


def abess(x, y: np.ndarray, k: int, ridge: float, _limit: float) -> tuple[float, np.ndarray]:
    """abess at one support size, on sparse data: it adds alpha ||w||^2 to the sum of losses."""
    return fit_abess(x, y, k, ridge, sparse_matrix=True)


def abess_dense(x, y: np.ndarray, k: int, ridge: float, _limit: float) -> tuple[float, np.ndarray]:
    """The same on dense data, which it scales first."""
    return fit_abess(x.toarray(), y, k, ridge)


def fit_abess(x, y: np.ndarray, k: int, ridge: float, **options) -> tuple[float, np.ndarray]:
    """One support size, no intercept."""
    from abess import LogisticRegression

    made = LogisticRegression(support_size=k, fit_intercept=False, alpha=ridge * len(y) / 2, thread=1)
    start = time.perf_counter()
    made.fit(x, (y > 0).astype(int), **options)
    return time.perf_counter() - start, np.asarray(made.coef_, dtype=np.float64).ravel()


def skscope(x, y: np.ndarray, k: int, ridge: float, _limit: float) -> tuple[float, np.ndarray]:
    """skscope's splicing solver on the objective itself, in f64, compiled by jax beforehand."""
    import jax
    import jax.numpy as jnp
    from skscope import ScopeSolver

    jax.config.update("jax_enable_x64", True)
    dense, labels = jnp.array(x.toarray()), jnp.array(y)

    def objective(w):
        return jnp.mean(jnp.logaddexp(0.0, -labels * (dense @ w))) + ridge / 2 * w @ w

    start = time.perf_counter()
    w = ScopeSolver(x.shape[1], k).solve(objective, jit=True)
    return time.perf_counter() - start, np.asarray(w, dtype=np.float64)


def okridge(x, y: np.ndarray, k: int, ridge: float, limit: float) -> tuple[float, np.ndarray]:
    """OKRidge to a gap of 1e-2, its default, or to its limit, on dense data: ||y - Xw||^2 + lambda2 ||w||^2 is P N."""
    from okridge.tree import BNBTree

    dense = x.toarray()
    start = time.perf_counter()
    # It prints whatever it is told.
    with contextlib.redirect_stdout(io.StringIO()):
        tree = BNBTree(X=dense, y=y, lambda2=ridge * len(y) / 2)
        _, w, _, _, _ = tree.solve(k=k, gap_tol=1e-2, verbose=False, time_limit=OWN_LIMIT * limit)
    return time.perf_counter() - start, np.asarray(w, dtype=np.float64).ravel()
