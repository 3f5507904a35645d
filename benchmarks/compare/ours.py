"""Running `ddiht train` and reading what it wrote."""

import json
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from datasets import Dataset


@dataclass(frozen=True)
class Run:
    """A model of ours and the summary that came with it."""

    summary: dict
    w: np.ndarray
    command: str


def train(program: Path, data: Dataset, k: int, loss: str, ridge: float, extra: list[str]) -> Run:
    """Train without intercept, so that the objective is LIBLINEAR's without bias."""
    options = ["-k", str(k), "--loss", loss, "--lambda", f"{ridge:g}", "--no-intercept"]
    options += [*data.source.options(), *extra, "--json"]
    with tempfile.TemporaryDirectory() as directory:
        model = Path(directory) / "model.json"
        call = [program, "train", data.path, *options, "--quiet", "--model", model]
        done = subprocess.run(call, check=True, stdout=subprocess.PIPE, text=True)
        w = read_model(model, data.features)
    command = " ".join(["ddiht train", data.shown_path, *map(quoted, options)])
    return Run(json.loads(done.stdout), w, command)


def read_model(path: Path, features: int) -> np.ndarray:
    """The weights of a model file as a dense vector."""
    model = json.loads(path.read_text())
    w = np.zeros(features)
    w[np.array(model["indices"], dtype=np.int64) - 1] = model["weights"]
    return w


def quoted(word: str) -> str:
    """A word as it is typed in a shell."""
    return f"'{word}'" if ">" in word else word
