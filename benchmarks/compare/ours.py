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
    # The lines of `--history`, a round each.
    rounds: list[dict]
    peak_bytes: int

    @property
    def seconds(self) -> float:
        """Training alone."""
        return self.summary["seconds"]["train"]

    @property
    def history(self) -> list[tuple[float, float]]:
        """Seconds and the best objective so far, for every round that had one."""
        return [(line["seconds"], line["objective"]) for line in self.rounds if line["objective"] is not None]

    def seconds_to_gap(self, gap: float) -> float:
        """When the proved gap was first at most this; infinite if never."""
        gaps = ((line["seconds"], line["gap"]) for line in self.rounds if line["gap"] is not None)
        return next((seconds for seconds, now in gaps if now <= gap), float("inf"))

    def seconds_below(self, objective: float) -> float:
        """When the best objective was first at most this; infinite if never."""
        return next((seconds for seconds, p in self.history if p <= objective), float("inf"))


def train(program: Path, data: Dataset, k: int, loss: str, ridge: float, extra: list[str], history: bool = True) -> Run:
    """Train without intercept, so that the objective is LIBLINEAR's without bias.

    To write a history takes a third of a millisecond: where that counts, `history` is false and there are no rounds.
    """
    options = ["-k", str(k), "--loss", loss, "--lambda", f"{ridge:g}", "--no-intercept"]
    options += [*data.source.options(), *extra, "--json"]
    with tempfile.TemporaryDirectory() as directory:
        model, lines = Path(directory) / "model.json", Path(directory) / "history.jsonl"
        call = [program, "train", data.path, *options, "--quiet", "--model", model]
        call += ["--history", lines] if history else []
        summary, peak = measured(call)
        w = read_model(model, data.features)
        rounds = [json.loads(line) for line in lines.read_text().splitlines()] if history else []
    command = " ".join(["ddiht train", data.shown_path, *map(quoted, options)])
    return Run(summary, w, command, rounds, peak)


def measured(call: list) -> tuple[dict, int]:
    """The summary of a call, and its peak memory in bytes (by GNU time: a child of ours would count our memory)."""
    with tempfile.NamedTemporaryFile() as peak:
        clocked = ["/usr/bin/time", "-f", "%M", "-o", peak.name, *call]
        done = subprocess.run(clocked, check=True, stdout=subprocess.PIPE, text=True)
        return json.loads(done.stdout), 1024 * int(Path(peak.name).read_text())


def read_model(path: Path, features: int) -> np.ndarray:
    """The weights of a model file as a dense vector."""
    model = json.loads(path.read_text())
    w = np.zeros(features)
    w[np.array(model["indices"], dtype=np.int64) - 1] = model["weights"]
    return w


def quoted(word: str) -> str:
    """A word as it is typed in a shell."""
    return f"'{word}'" if ">" in word else word
