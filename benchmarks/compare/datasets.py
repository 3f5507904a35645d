"""The data sets as `ddiht` sees them: f32 values, rows scaled like its own, labels -1 and +1."""

import lzma
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from scipy import sparse


ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Source:
    """A file and what `ddiht` is told about it."""

    name: str
    file: str
    at_least: float | None = None
    unit_rows: bool = False
    tf_idf: bool = False
    # Rows and features of `ddiht synth text`; 0: the file is a data set.
    synthetic: tuple[int, int] = (0, 0)

    def options(self) -> list[str]:
        """The same preparation in the words of `ddiht train`."""
        if self.tf_idf:
            return []
        positive = ["--positive", f">={self.at_least:g}"] if self.at_least is not None else []
        return positive + (["--normalize", "l2"] if self.unit_rows else [])


SOURCES = [
    Source("reuters", "reuters21578_acq_train.svm.xz"),
    Source("imdb", "imdb_bow_train.svm.xz", at_least=7, unit_rows=True),
    Source("imdb-tfidf", "imdb_bow_train.svm.xz", at_least=7, unit_rows=True, tf_idf=True),
    Source("ng20", "ng20_bin_bigram_train.svm.xz"),
]
MADE = ROOT / "target" / "benchmarks-data"


def text_source(rows: int, features: int = 47_236) -> Source:
    """Text-like data of our own generator."""
    name = f"text-{rows}x{features}"
    return Source(name, f"{name}.svm", synthetic=(rows, features))


@dataclass(frozen=True)
class Dataset:
    """Rows and labels."""

    source: Source
    path: Path
    shown_path: str
    x: sparse.csr_matrix
    y: np.ndarray

    @property
    def rows(self) -> int:
        """N."""
        return self.x.shape[0]

    @property
    def features(self) -> int:
        """d."""
        return self.x.shape[1]


def generate(source: Source, program: Path) -> Path:
    """The file of a synthetic source, made on first use."""
    path = MADE / source.file
    if not path.exists():
        MADE.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part")
        subprocess.run([program, *synth_options(source), "-o", part], check=True, stderr=subprocess.DEVNULL)
        part.rename(path)
    return path


def synth_options(source: Source) -> list[str]:
    """The call that makes a synthetic source, without its file."""
    rows, features = source.synthetic
    informative = min(1000, features // 4)
    return ["synth", "text", "--rows", str(rows), "--features", str(features), "--informative", str(informative)]


def load_text(source: Source, program: Path) -> Dataset:
    """Generate and read text-like data; the arrays are kept for the next run."""
    path = generate(source, program)
    kept = path.with_suffix(".npz")
    if not kept.exists():
        labels, x = parse(path.read_bytes())
        np.savez(kept, labels=labels, data=x.data.astype(np.float32), indices=x.indices, indptr=x.indptr)
    arrays = np.load(kept)
    values = arrays["data"].astype(np.float64)
    x = sparse.csr_matrix((values, arrays["indices"], arrays["indptr"]), shape=(len(arrays["labels"]), source.synthetic[1]))
    return Dataset(source, path, source.file, x, np.where(arrays["labels"] > 0, 1.0, -1.0))


def load(source: Source, directory: Path) -> Dataset:
    """Read and prepare a file."""
    path = directory / source.file
    labels, x = parse(lzma.decompress(path.read_bytes()))
    if source.tf_idf:
        weigh_words(x)
    if source.unit_rows:
        scale_rows(x)
    positive = labels > 0 if source.at_least is None else labels >= source.at_least
    data = Dataset(source, path, f"$DDIHT_DATA/{source.file}", x, np.where(positive, 1.0, -1.0))
    return write(data) if source.tf_idf else data


def parse(text: bytes) -> tuple[np.ndarray, sparse.csr_matrix]:
    """LIBSVM text without comments: labels, and the values rounded to f32 (held as f64)."""
    characters = np.frombuffer(text, np.uint8)
    ends = np.flatnonzero(characters == ord("\n"))
    if not text.endswith(b"\n"):
        ends = np.append(ends, len(text))
    colons = np.flatnonzero(characters == ord(":"))
    offsets = np.concatenate([[0], np.searchsorted(colons, ends)])
    numbers = np.fromstring(text.replace(b":", b" "), sep=" ")
    if len(numbers) != len(ends) + 2 * len(colons):
        raise ValueError("a line is not `label index:value ...`")
    # The label of row i stands before its entries and after i labels and all earlier entries.
    label_at = np.arange(len(ends)) + 2 * offsets[:-1]
    entries = np.delete(numbers, label_at)
    columns = entries[0::2].astype(np.int32) - 1
    values = entries[1::2].astype(np.float32).astype(np.float64)
    shape = (len(ends), int(columns.max()) + 1)
    return numbers[label_at], sparse.csr_matrix((values, columns, offsets), shape=shape)


def scale_rows(x: sparse.csr_matrix) -> None:
    """Unit rows: the norm in f64, the quotient rounded to f32."""
    norms = np.sqrt(np.asarray(x.multiply(x).sum(axis=1)).ravel())
    norms[norms == 0.0] = 1.0
    x.data[:] = (x.data / np.repeat(norms, np.diff(x.indptr))).astype(np.float32)


def weigh_words(x: sparse.csr_matrix) -> None:
    """Counts to (1 + ln count) ln(N / rows with the word)."""
    rows_with = np.maximum(np.bincount(x.indices, minlength=x.shape[1]), 1)
    x.data[:] = (1.0 + np.log(x.data)) * np.log(x.shape[0] / rows_with)[x.indices]


def write(data: Dataset) -> Dataset:
    """The same data in a file of its own, for a preparation that `ddiht` does not do itself."""
    path = MADE / f"{data.source.name}.svm"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        for i, label in enumerate(data.y):
            span = slice(data.x.indptr[i], data.x.indptr[i + 1])
            entries = zip(data.x.indices[span].tolist(), data.x.data[span].tolist())
            words = " ".join(f"{j + 1}:{v:.9g}" for j, v in entries)
            file.write(f"{label:+g} {words}\n")
    return replace(data, path=path, shown_path=str(path.relative_to(ROOT)))
