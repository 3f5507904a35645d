"""What every part of the peer benchmark does with its figures: bars, tables, a picture, a record."""

import argparse
import math
import statistics
from collections.abc import Callable
from dataclasses import dataclass, field

import picture
import record

# Shown with the versions of a run.
PACKAGES = ["liblinear-official", "snapml", "scikit-learn", "celer", "skglm", "abess", "skscope", "okridge", "numpy",
            "scipy"]


@dataclass(frozen=True)
class Bar:
    """A figure and what it may be at most (or at least)."""

    what: str
    figure: float
    limit: float
    at_least: bool = False
    # What is proved to be the least that anybody can reach.
    least: float = 0.0
    # Seconds are in it: on small data it is shown, but does not count.
    timed: bool = False

    @property
    def passed(self) -> bool:
        """Whether the bar holds."""
        return self.figure >= self.limit if self.at_least else self.figure <= self.limit

    def cells(self) -> list[str]:
        """A line of the table of bars."""
        sign = "at least" if self.at_least else "at most"
        return [self.what, f"{self.figure:.4g}", f"{sign} {self.limit:g}", self.verdict]

    @property
    def verdict(self) -> str:
        """In a word, or in three where the limit is out of reach."""
        if self.passed:
            return "PASS"
        return f"FAIL (no model can be below {self.least:.4g})" if self.least > self.limit else "FAIL"


@dataclass
class Report:
    """The figures of one part."""

    part: str
    title: str
    header: list[str]
    threads: str
    # Every measurement in full, and the lines of the table.
    rows: list[dict] = field(default_factory=list)
    lines: list[list[str]] = field(default_factory=list)
    bars: list[Bar] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)
    panels: list[picture.Panel] = field(default_factory=list)
    axes: tuple[str, str] = ("seconds", "objective above the best, relative")

    def bar(self, what: str, figure: float, limit: float, **facts) -> None:
        """Judge a figure, and say so at once."""
        bar = Bar(what, figure, limit, **facts)
        self.bars.append(bar)
        what, figure, limit, verdict = bar.cells()
        print(f"{verdict} {what}: {figure} ({limit})", flush=True)

    def skip(self, what: str, reason: object) -> None:
        """A peer or a case that gave no figure."""
        text = f"SKIPPED {what}: {' '.join(str(reason).split())[:200]}"
        if text not in self.notes:
            self.notes.append(text)
            print(text, flush=True)

    def summary(self) -> str:
        """The tables and notes in Markdown."""
        parts = [record.markdown(self.header, self.lines)]
        if self.bars:
            parts.append(record.markdown(["bar", "measured", "limit", "verdict"], [b.cells() for b in self.bars]))
        if self.notes:
            parts.append("".join(f"- {note}\n" for note in self.notes))
        if self.panels:
            parts.append(f"![{self.axes[1]} against {self.axes[0]}](plot.svg)\n")
        return "\n".join(parts)

    def write(self, arguments: argparse.Namespace) -> bool:
        """Record the part; whether all bars hold that count."""
        name = f"{arguments.name or 'peers'}-{self.part}"
        chosen = [*(f"--only {data}" for data in arguments.only), *(f"--k {k}" for k in arguments.k or [])]
        options = [*(["--quick"] if arguments.quick else []), *chosen, f"--repeats {arguments.repeats}"]
        call = " ".join(["python3 benchmarks/peers.py", self.part, *options])
        directory = record.write(name, self.title, uniform(self.rows), self.summary(), [call, *self.commands],
                                 PACKAGES, self.threads)
        if self.panels:
            picture.draw(directory / "plot.svg", self.title, *self.axes, self.panels)
        print(f"\n{self.summary()}\nrecorded in {directory.relative_to(record.ROOT)}", flush=True)
        return all(bar.passed for bar in self.bars if not (arguments.quick and bar.timed))


def uniform(rows: list[dict]) -> list[dict]:
    """The rows with all columns that any of them has."""
    columns = dict.fromkeys(key for row in rows for key in row)
    return [{column: row.get(column, "") for column in columns} for row in rows]


def interleaved(repeats: int, methods: dict[str, Callable[[], object]]) -> dict[str, list]:
    """The results of all methods, called in turn, so that a busy spell of the machine hits all of them."""
    results = {name: [] for name in methods}
    for _ in range(repeats):
        for name, method in methods.items():
            results[name].append(method())
    return results


def median(figures: list[float]) -> float:
    """The middle figure."""
    return statistics.median(figures)


def ratio(a: float, b: float) -> float:
    """a/b, infinite where there is nothing to divide by."""
    return a / b if b > 0.0 else math.inf


def seconds_text(seconds: float) -> str:
    """Three digits are enough."""
    return f"{seconds:.3g}"
