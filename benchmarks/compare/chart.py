"""A small line chart in plain SVG, for what `ddiht plot` does not draw."""

import math
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 900, 520
LEFT, RIGHT, TOP, BOTTOM = 80, 20, 84, 60
# The colours of `ddiht plot`, which colour-blind readers can tell apart.
COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#000000"]
FONT = 'font-family="sans-serif"'


@dataclass
class Line:
    """Points under one name in the legend."""

    label: str
    points: list
    dashed: bool = False
    dots: bool = False


def draw(path, title, x_name, y_name, lines, bottom=None, top=None, ticks=None):
    """Writes the picture; points above `top` leave it at the upper edge."""
    xs = [x for line in lines for x, _ in line.points]
    ys = [y for line in lines for _, y in line.points]
    top = max(ys) if top is None else top
    bottom = min(ys) - 0.04 * (top - min(ys)) if bottom is None else bottom
    right = max(xs)

    def place(x, y):
        across = LEFT + (WIDTH - LEFT - RIGHT) * x / right
        share = (min(y, top) - bottom) / (top - bottom)
        return f"{across:.1f}", f"{HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * share:.1f}"

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        text(LEFT, 28, title, size=18),
        text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 14, x_name, anchor="middle"),
        f'<g transform="translate(20 {(TOP + HEIGHT - BOTTOM) / 2}) rotate(-90)">{text(0, 0, y_name, anchor="middle")}</g>',
    ]
    for y in ticks or marks(bottom, top):
        x1, level = place(0, y)
        parts.append(f'<path d="M{x1} {level}H{WIDTH - RIGHT}" stroke="#e0e0e0"/>')
        parts.append(text(LEFT - 8, float(level) + 5, f"{y:g}", anchor="end"))
    for x in marks(0, right):
        at, _ = place(x, bottom)
        parts.append(f'<path d="M{at} {HEIGHT - BOTTOM}v5" stroke="#404040"/>')
        parts.append(text(at, HEIGHT - BOTTOM + 21, f"{x:g}", anchor="middle"))
    parts.append(f'<path d="M{LEFT} {HEIGHT - BOTTOM}H{WIDTH - RIGHT}" stroke="#404040"/>')
    across = LEFT
    for line, colour in zip(lines, COLOURS):
        dash = ' stroke-dasharray="6 4"' if line.dashed else ""
        if line.dots:
            parts.append(f'<circle cx="{across + 14}" cy="55" r="4" fill="{colour}"/>')
            spots = (place(*point) for point in line.points)
            parts += [f'<circle cx="{x}" cy="{y}" r="3" fill="{colour}"/>' for x, y in spots]
        else:
            parts.append(f'<path d="M{across} 55h28" stroke="{colour}" stroke-width="2"{dash}/>')
            route = " ".join(",".join(place(*point)) for point in line.points)
            parts.append(f'<polyline points="{route}" fill="none" stroke="{colour}" stroke-width="1.5"{dash}/>')
        parts.append(text(across + 36, 60, line.label))
        across += 62 + 8 * len(line.label)
    path.write_text("\n".join([*parts, "</svg>", ""]), encoding="utf-8")


def text(x, y, words, anchor="start", size=14):
    """A line of text."""
    return f'<text x="{x}" y="{y}" {FONT} font-size="{size}" text-anchor="{anchor}" fill="#202020">{escape(words)}</text>'


def marks(low, high):
    """About six round numbers between the two."""
    rough = (high - low) / 6
    power = 10 ** math.floor(math.log10(rough))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= rough)
    first = math.ceil(low / step)
    return [round(step * i, 10) for i in range(first, math.floor(high / step) + 1)]
