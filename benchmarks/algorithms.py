#!/usr/bin/env python3
"""Compare our baselines with the same algorithms of skscope and scikit-learn.

    cargo build --release
    python3 benchmarks/algorithms.py

Data are made by `ddiht synth`; the peers are installed by pip into a virtual environment of their own. Each
pair gets the same data, k, lambda, loss and step, and every model is judged by the same numpy code:

    P(w) = (1/N) sum_i l(x_i'w, y_i) + (lambda/2) ||w||^2

They agree when the objectives differ by at most 1e-6, relative. A search that ends in another support may be
better or worse than its peer, and is shown as what it is; only one that is worse fails the run. The run is
recorded under benchmarks/runs/<date>-algorithms/.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
# Not the directory of this script: its name would hide a peer's module.
sys.path[0] = str(HERE / "compare")
sys.dont_write_bytecode = True
import environment  # noqa: E402  (found by the line above)

PEERS = ["skscope", "scikit-learn", "numpy"]
LAMBDA = 1e-4
TOLERANCE = 1e-6
# skscope's refits end at an absolute gradient, so it gets a multiple of P: else they are what differs.
SCALE = 1e6
# Of our options, those that make an algorithm the peer's: a step that is given, and a refit at the end.
SKSCOPE = {
    "iht": ("IHTSolver", ["--debias"]),
    "htp": ("HTPSolver", []),
    "grahtp": ("HTPSolver", []),
    "grasp": ("GraspSolver", []),
    "foba": ("FobaSolver", []),
    "forward": ("ForwardSolver", []),
    "omp": ("OMPSolver", []),
    "fbs": ("OMPSolver", []),
}
STEPS = {"iht", "htp", "grahtp"}


@dataclass(frozen=True)
class Data:
    """A design of the papers."""

    name: str
    loss: str
    k: int
    x: "np.ndarray"
    y: "np.ndarray"
    path: Path

    def losses(self, z, log1p, exp):
        """Losses of scores, for numpy and jax alike."""
        if self.loss == "squared":
            return (self.y - z) ** 2
        margin = self.y * z
        return log1p(exp(-abs(margin))) + (abs(margin) - margin) / 2

    def objective(self, w) -> float:
        """P."""
        import numpy as np

        return float(self.losses(self.x @ w, np.log1p, np.exp).mean() + LAMBDA / 2 * w @ w)

    def step(self) -> float:
        """1/L, with L the smoothness of P."""
        import numpy as np

        bend = {"squared": 2.0, "logistic": 0.25}[self.loss]
        return float(1.0 / (bend * np.linalg.norm(self.x, 2) ** 2 / len(self.y) + LAMBDA))


def make(program: Path, directory: Path, name: str, loss: str, k: int, options: list[str]) -> Data:
    """Generate a design, and read it as the program does: values are f32."""
    import numpy as np

    path = directory / f"{name}.svm"
    subprocess.run([program, "synth", name, "-o", path, *options], check=True, stderr=subprocess.DEVNULL)
    rows = [line.split() for line in path.read_text().splitlines()]
    y = np.array([float(row[0]) for row in rows])
    x = np.array([[np.float32(entry.split(":")[1]) for entry in row[1:]] for row in rows], dtype=np.float64)
    return Data(name, loss, k, x, y, path)


def ours(program: Path, data: Data, algorithm: str, ridge: float, extra: list[str]):
    """Our weights, and the command that made them."""
    import numpy as np

    options = ["-k", str(data.k), "--loss", data.loss, "--lambda", f"{ridge:g}", "--no-intercept",
               "--algorithm", algorithm, "--gap", "1e-7", *extra]
    model = data.path.with_suffix(".json")
    call = [program, "train", data.path, *options, "--json", "--quiet", "--model", model]
    done = subprocess.run(call, check=True, stdout=subprocess.PIPE, text=True)
    told = json.loads(model.read_text())
    w = np.zeros(data.x.shape[1])
    w[np.array(told["indices"], dtype=int) - 1] = told["weights"]
    seconds = json.loads(done.stdout)["seconds"]["train"]
    return w, seconds, " ".join(["ddiht train", data.path.name, *options])


def by_skscope(data: Data, solver: str, step: float | None):
    """Weights by a solver of skscope."""
    import time

    import jax.numpy as jnp
    import numpy as np
    import skscope

    x = jnp.array(data.x)

    def objective(w):
        return SCALE * (jnp.mean(data.losses(x @ w, jnp.log1p, jnp.exp)) + LAMBDA / 2 * w @ w)

    options = {"step_size": step / SCALE} if step else {}
    begin = time.perf_counter()
    made = getattr(skscope, solver)(data.x.shape[1], data.k, max_iter=2000, **options)
    w = np.array(made.solve(objective, jit=True))
    return w, time.perf_counter() - begin


def by_sklearn_omp(data: Data):
    """Weights by orthogonal matching pursuit of scikit-learn: without a ridge."""
    from sklearn.linear_model import OrthogonalMatchingPursuit

    return OrthogonalMatchingPursuit(n_nonzero_coefs=data.k, fit_intercept=False).fit(data.x, data.y).coef_


def by_sklearn_lasso(data: Data):
    """Weights by the elastic net of scikit-learn, its penalty halved down to k features, refitted."""
    import numpy as np
    from sklearn.linear_model import ElasticNet

    def features(penalty):
        # (1/2N)||y - Xw||^2 + a r ||w||_1 + a (1 - r)/2 ||w||^2 is half of ours with a r = penalty/2, a (1-r) = LAMBDA/2.
        a = penalty / 2 + LAMBDA / 2
        net = ElasticNet(alpha=a, l1_ratio=penalty / 2 / a, fit_intercept=False, tol=1e-10, max_iter=100_000)
        return np.flatnonzero(net.fit(data.x, data.y).coef_)

    most = 2 * np.abs(data.x.T @ data.y).max() / len(data.y)
    low, high = 1e-4 * most, most
    for _ in range(40):
        middle = np.sqrt(low * high)
        low, high = (low, middle) if len(features(middle)) <= data.k else (middle, high)
    return refitted(data, features(high))


def refitted(data: Data, support):
    """Ridge on a support (squared loss)."""
    import numpy as np

    part = data.x[:, support]
    gram = 2 * part.T @ part / len(data.y) + LAMBDA * np.eye(len(support))
    w = np.zeros(data.x.shape[1])
    w[support] = np.linalg.solve(gram, 2 * part.T @ data.y / len(data.y))
    return w


def row(data: Data, algorithm: str, peer: str, pair, seconds, command: str) -> dict:
    """Two models of the same data, side by side."""
    import numpy as np

    mine, theirs = (data.objective(w) for w in pair)
    supports = [set(np.flatnonzero(w)) for w in pair]
    relative = (mine - theirs) / theirs
    verdict = "equal" if abs(relative) <= TOLERANCE else "ours is better" if relative < 0 else "OURS IS WORSE"
    return {"data": data.name, "loss": data.loss, "k": data.k, "algorithm": algorithm, "peer": peer,
            "P ours": mine, "P peer": theirs, "relative": relative, "common features": len(supports[0] & supports[1]),
            "s ours": seconds[0], "s peer": seconds[1], "verdict": verdict, "command": command}


def compare(program: Path, data: Data) -> list[dict]:
    """All pairs on one design."""
    rows = []
    for algorithm, (solver, extra) in SKSCOPE.items():
        step = data.step() if algorithm in STEPS else None
        options = [*extra, *(["--step", repr(step)] if step else [])]
        w, seconds, command = ours(program, data, algorithm, LAMBDA, options)
        peer, peer_seconds = by_skscope(data, solver, step)
        rows.append(row(data, algorithm, f"skscope {solver}", (w, peer), (seconds, peer_seconds), command))
    if data.loss == "squared":
        w, seconds, command = ours(program, data, "omp", 1e-12, [])
        rows.append(row(data, "omp", "scikit-learn OMP", (w, by_sklearn_omp(data)), (seconds, float("nan")), command))
        w, seconds, command = ours(program, data, "lasso", LAMBDA, [])
        rows.append(row(data, "lasso", "scikit-learn", (w, by_sklearn_lasso(data)), (seconds, float("nan")), command))
    return rows


def main() -> int:
    """Run all comparisons and record them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    environment.add_options(parser, "algorithms-venv")
    parser.set_defaults(data=Path("."))
    arguments = environment.parse(parser)
    environment.enter_venv(arguments.venv, PEERS)
    import record

    designs = [
        ("gaussian", "squared", 10, ["--rows", "150", "--features", "300", "--informative", "10"]),
        ("ar1", "squared", 20, []),
        ("logistic", "logistic", 10, ["--rows", "400", "--features", "200", "--informative", "10"]),
    ]
    rows = []
    with tempfile.TemporaryDirectory() as directory:
        for name, loss, k, options in designs:
            rows += compare(arguments.ddiht, make(arguments.ddiht, Path(directory), name, loss, k, options))
    header = ["data", "algorithm", "peer", "P ours", "P peer", "relative", "common features", "verdict"]
    cells = [[f"{r[h]:.9g}" if isinstance(r[h], float) else str(r[h]) for h in header] for r in rows]
    commands = ["python3 benchmarks/algorithms.py"]
    commands += [f"ddiht synth {name} -o {name}.svm {' '.join(options)}" for name, _, _, options in designs]
    commands += [r["command"] for r in rows]
    summary = record.markdown(header, cells)
    title = "Our baselines against skscope and scikit-learn"
    print(record.write("algorithms", title, rows, summary, commands, PEERS))
    print(summary)
    return int(any(r["verdict"] == "OURS IS WORSE" for r in rows))


if __name__ == "__main__":
    sys.exit(main())
