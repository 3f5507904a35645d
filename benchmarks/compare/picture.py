"""Time against objective, one line a method, one panel a case: by matplotlib, as SVG."""

from dataclasses import dataclass
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
# The same figures give the same file.
matplotlib.rcParams["svg.hashsalt"] = "ddiht"

import matplotlib.pyplot as plt  # noqa: E402  (after the backend is chosen)

# Colours that colour-blind readers can tell apart.
COLOURS = ["#0072b2", "#56b4e9", "#d55e00", "#e69f00", "#009e73", "#cc79a7", "#000000", "#999999", "#7f3c8d", "#a5aa99"]
MARKERS = ["o", "o", "s", "s", "^", "D", "v", "P", "X", "*"]
MOST_COLUMNS = 3
# A point at the very best objective has no place on a logarithmic axis.
LEAST = 1e-7
# A line with more points than this has no marks.
FEW = 30


@dataclass(frozen=True)
class Panel:
    """One case; a line has points of x and y under its name."""

    title: str
    lines: dict[str, list[tuple[float, float]]]


def draw(path: Path, title: str, x_name: str, y_name: str, panels: list[Panel]) -> None:
    """Write the picture."""
    columns = min(MOST_COLUMNS, len(panels))
    rows = -(-len(panels) // columns)
    figure, axes = plt.subplots(rows, columns, figsize=(4.2 * columns + 0.6, 3.1 * rows + 1.5), squeeze=False)
    names = list(dict.fromkeys(name for panel in panels for name in panel.lines))
    for axis, panel in zip(axes.flat, panels):
        fill(axis, panel, names)
    for axis in axes.flat[len(panels):]:
        axis.set_visible(False)
    for axis in axes[:, 0]:
        axis.set_ylabel(y_name, fontsize=9)
    for at in range(columns):
        below = [r for r in range(rows) if r * columns + at < len(panels)]
        axes[below[-1], at].set_xlabel(x_name, fontsize=9)
    figure.suptitle(title, fontsize=13)
    handles = [plt.Line2D([], [], color=colour(names, n), marker=marker(names, n), markersize=4, label=n) for n in names]
    figure.legend(handles=handles, loc="lower center", ncols=min(4, len(names)), frameon=False, fontsize=9)
    legend = 0.28 * -(-len(names) // 4) + 0.15
    figure.tight_layout(rect=(0, legend / figure.get_size_inches()[1], 1, 0.98))
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
    plt.close(figure)


def fill(axis, panel: Panel, names: list[str]) -> None:
    """The lines of one panel."""
    for name, points in panel.lines.items():
        points = sorted(points)
        xs, ys = [x for x, _ in points], [max(y, LEAST) for _, y in points]
        mark = marker(names, name) if len(points) <= FEW else None
        axis.plot(xs, ys, color=colour(names, name), marker=mark, markersize=4.5, linewidth=1.2)
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_title(panel.title, fontsize=10)
    axis.grid(True, which="major", color="#e0e0e0", linewidth=0.6)
    axis.tick_params(labelsize=8)


def colour(names: list[str], name: str) -> str:
    """A method has the same colour in all panels."""
    return COLOURS[names.index(name) % len(COLOURS)]


def marker(names: list[str], name: str) -> str:
    """And the same mark."""
    return MARKERS[names.index(name) % len(MARKERS)]
