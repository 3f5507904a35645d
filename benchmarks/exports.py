#!/usr/bin/env python3
"""Compare the predictions of exported models with our own, on every row of a test set.

    cargo build --release
    export DDIHT_DATA=...            # a directory with imdb_bow_{train,test}.svm.xz
    python3 benchmarks/exports.py

Models of imdb are trained by `ddiht train` and exported; LIBLINEAR's own code (liblinear-official) and
onnxruntime, installed by pip into a virtual environment of their own, predict on all rows of the test set,
and so does a few lines of numpy from the JSON export. Labels must be equal on every row. The run is
recorded under benchmarks/runs/<date>-exports/. Exit code 1 means that a prediction differed.
"""

import argparse
import json
import lzma
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
# Not the directory of this script: its name would hide a peer's module.
sys.path[0] = str(HERE / "compare")
sys.dont_write_bytecode = True
import environment  # noqa: E402  (found by the line above)

PEERS = ["liblinear-official", "onnxruntime", "numpy", "scipy"]
# Rows that are dense at once: a row of imdb is 90 thousand floats.
BATCH = 250
# What the order of a sum may change in a score, relative to 1 + |score|.
TOLERANCE = 1e-12
CASES = {
    "counts": ["--positive", ">=7"],
    "hinge": ["--positive", ">=7", "--loss", "hinge", "--no-intercept"],
    "unit rows": ["--positive", ">=7", "--normalize", "l2"],
    "logistic, unit rows": ["--positive", ">=7", "--normalize", "l2", "--loss", "logistic"],
    "regression, unit rows": ["--normalize", "l2", "--loss", "squared"],
}


def parse_arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    environment.add_options(parser, "exports-venv")
    return environment.parse(parser)


def ours(program: Path, model: Path, data: Path, *options: str):
    """What `ddiht predict` says."""
    import numpy as np

    call = [program, "predict", model, data, *options]
    text = subprocess.run(call, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return np.array(text.stdout.split(), dtype=np.float64)


def by_liblinear(path: Path, x, facts: dict):
    """Labels and scores by LIBLINEAR, whose data must be scaled beforehand."""
    import numpy as np
    from datasets import scale_rows
    from liblinear.liblinearutil import load_model, predict

    x = x[:, :min(x.shape[1], facts["features"])].copy()
    if facts["normalize"] == "l2":
        scale_rows(x)
    labels, _, scores = predict([], x, load_model(str(path)), "-q")
    return np.array(labels), np.array(scores)[:, 0]


def by_onnx(path: Path, x, facts: dict):
    """Labels and scores by onnxruntime, which scales rows itself."""
    import numpy as np
    import onnxruntime
    from scipy import sparse

    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    width = session.get_inputs()[0].shape[1]
    x = sparse.csr_matrix((x.data, x.indices, x.indptr), shape=(x.shape[0], max(width, x.shape[1])))
    wanted = [output.name for output in session.get_outputs()]
    found = {name: [] for name in wanted}
    for first in range(0, x.shape[0], BATCH):
        rows = x[first:first + BATCH, :width].toarray().astype(np.float32)
        for name, values in zip(wanted, session.run(None, {"x": rows})):
            found[name].append(values)
    found = {name: np.concatenate(parts) for name, parts in found.items()}
    return found.get("label", found["score"]), found["score"]


def by_numpy(path: Path, x, facts: dict):
    """Labels and scores from the JSON description."""
    import numpy as np
    from datasets import scale_rows

    told = json.loads(path.read_text())
    w = np.zeros(max(told["features"], x.shape[1]))
    for weight in told["weights"]:
        w[weight["feature"] - told["first_feature"]] = weight["weight"]
    x = x[:, :min(x.shape[1], told["features"])].copy()
    if told["normalize"] == "l2":
        scale_rows(x)
    scores = x @ w[:x.shape[1]] + told["intercept"]
    if told["task"] == "regression":
        return scores, scores
    labels = told["labels"]
    return np.where(scores > 0, labels["positive"], labels["negative"]), scores


READERS = {"liblinear": by_liblinear, "onnx": by_onnx, "json": by_numpy}


def compare(arguments: argparse.Namespace, name: str, x, directory: Path) -> list[dict]:
    """One model, exported every way."""
    import numpy as np

    train = arguments.data / "imdb_bow_train.svm.xz"
    test = arguments.data / "imdb_bow_test.svm.xz"
    model = directory / "model.json"
    subprocess.run([arguments.ddiht, "train", train, "-k", "1000", *CASES[name], "--quiet",
                    "--model", model], check=True, stdout=subprocess.DEVNULL)
    facts = json.loads(model.read_text())
    labels = ours(arguments.ddiht, model, test)
    scores = ours(arguments.ddiht, model, test, "--scores")
    rows = []
    for form, reader in READERS.items():
        path = directory / f"export.{form}"
        subprocess.run([arguments.ddiht, "export", model, "--format", form, "-o", path],
                       check=True, stderr=subprocess.DEVNULL)
        their_labels, their_scores = reader(path, x, facts)
        apart = np.abs(their_scores - scores) / (1.0 + np.abs(scores))
        differ = int(np.sum(their_labels != labels)) if facts["labels"] else 0
        rows.append({
            "model": name, "format": form, "bytes": path.stat().st_size, "rows": len(labels),
            "labels_that_differ": differ, "largest_score_difference": float(apart.max()),
            "smallest_score": float(np.abs(scores).min()),
            "equal": len(their_scores) == len(scores) and differ == 0 and apart.max() <= TOLERANCE,
        })
        print(rows[-1], flush=True)
    return rows


def main() -> int:
    """Compare all models and record the result."""
    arguments = parse_arguments()
    environment.enter_venv(arguments.venv, PEERS)
    from datasets import parse
    from record import markdown, write

    _, x = parse(lzma.decompress((arguments.data / "imdb_bow_test.svm.xz").read_bytes()))
    rows = []
    with tempfile.TemporaryDirectory() as directory:
        for name in CASES:
            rows += compare(arguments, name, x, Path(directory))
    header = ["model", "format", "bytes", "rows", "labels that differ", "largest difference of scores"]
    lines = [[row["model"], row["format"], str(row["bytes"]), str(row["rows"]),
              str(row["labels_that_differ"]), f"{row['largest_score_difference']:.1e}"] for row in rows]
    note = ("\nDifferences of scores are relative to 1 + |score|; they come from the order of sums. "
            "LIBLINEAR's rows of `unit rows` were scaled before, as `export` says.\n")
    commands = ["python3 benchmarks/exports.py"]
    for options in CASES.values():
        words = " ".join(f"'{word}'" if ">" in word else word for word in options)
        commands.append(f"ddiht train $DDIHT_DATA/imdb_bow_train.svm.xz -k 1000 {words} --model model.json")
    commands.append("ddiht export model.json --format liblinear|onnx|json -o FILE")
    write("exports", "Exported models predict the same", rows, markdown(header, lines) + note,
          commands, PEERS)
    return 0 if all(row["equal"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
