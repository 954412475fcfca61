"""How a method looks, the same in every figure, and where its name stands."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from dsnc.pictures.drawing import COLORS, FAINT, INK

TEXT = 8.5  # points
_HEIGHT = 1.35 * TEXT / 72  # of a line of text, inches
_LETTER = 0.6 * TEXT / 72  # mean width of a letter, inches


class Look(NamedTuple):
    """Color, and what tells it apart without color."""

    color: str
    marker: str
    dashed: bool = False  # regularized, or without a code size

    @property
    def line(self) -> dict[str, Any]:
        """Settings of a line."""
        return {"color": self.color, "linestyle": (0, (4, 2)) if self.dashed else "-"}

    @property
    def points(self) -> dict[str, Any]:
        """Settings of its markers; hollow where the line is dashed."""
        face = "none" if self.dashed else self.color
        return {"marker": self.marker, "markerfacecolor": face, "markeredgecolor": self.color}


LOOKS = {
    "dsnc/linear": Look(COLORS["blue"], "o"),
    "dsnc_reg/linear": Look(COLORS["blue"], "o", True),
    "dsnc/nearest": Look(COLORS["sky"], "D"),
    "dsnc_reg/nearest": Look(COLORS["sky"], "D", True),
    "dsnc/shortlist": Look(COLORS["vermillion"], "s"),
    "dsnc_reg/shortlist": Look(COLORS["vermillion"], "s", True),
    "dsnc/table": Look(COLORS["green"], "^"),
    "mlp": Look(INK, "v"),
    "mlp_reg": Look(INK, "v", True),
    "ecoc": Look(COLORS["purple"], "P"),
    "one_vs_rest": Look(COLORS["orange"], "X", True),
    "nearest_centroid": Look(FAINT, "X", True),
    # Of a method as a whole, where decoders do not matter.
    "dsnc": Look(COLORS["vermillion"], "s"),
    "dsnc_reg": Look(COLORS["blue"], "o", True),
}


def look_of(key: str) -> Look:
    """Return how a method and decoder look; one that is not known is faint."""
    return LOOKS.get(key.removesuffix("/own"), Look(FAINT, "."))


class End(NamedTuple):
    """Where a line ends at the right edge."""

    y: float
    text: str
    color: str


def label_ends(axes: Any, ends: Sequence[End], height: float) -> None:
    """Write the names of lines at the right edge, apart from each other, with a thin leader.

    Parameters
    ----------
    axes : matplotlib axes
        With its limits set.
    ends : sequence of End
    height : float
        Of the axes, inches.
    """
    low, high = axes.get_ylim()
    ordered = sorted(ends)
    places = spread([(end.y - low) / (high - low) for end in ordered], _HEIGHT / height)
    for end, place in zip(ordered, places, strict=True):
        start = (end.y - low) / (high - low)
        leader = {"color": end.color, "linewidth": 0.6, "clip_on": False}
        axes.plot([1.005, 1.03], [start, place], transform=axes.transAxes, **leader)
        style = {"color": end.color, "fontsize": TEXT, "va": "center", "clip_on": False}
        axes.text(1.035, place, end.text, transform=axes.transAxes, **style)


def spread(places: Sequence[float], gap: float) -> list[float]:
    """Move sorted places apart to a least gap, as little as that takes; their center stays.

    Neighbors that are too near become a block around their mean, blocks that meet become one.

    Examples
    --------
    >>> spread([0.0, 5.0, 5.0], 2.0)
    [0.0, 4.0, 6.0]
    """
    blocks: list[list[float]] = []  # members' own places
    for place in places:
        blocks.append([place])
        while len(blocks) > 1 and _last(blocks[-2], gap) + gap > _first(blocks[-1], gap):
            last = blocks.pop()
            blocks[-1] += last
    return [_first(block, gap) + i * gap for block in blocks for i in range(len(block))]


def _first(block: Sequence[float], gap: float) -> float:
    return sum(block) / len(block) - gap * (len(block) - 1) / 2


def _last(block: Sequence[float], gap: float) -> float:
    return sum(block) / len(block) + gap * (len(block) - 1) / 2


class Tag(NamedTuple):
    """A name to stand beside a point of the axes, in shares of their sides."""

    x: float
    y: float
    text: str
    color: str


def label_points(
    axes: Any,
    tags: Sequence[Tag],
    obstacles: Sequence[tuple[float, float, float]],
    size: tuple[float, float],
) -> None:
    """Write names beside points, where they cover neither points nor each other.

    Parameters
    ----------
    axes : matplotlib axes
    tags : sequence of Tag
        The most important first: later ones give way.
    obstacles : sequence of (x, y, weight)
        What is better not covered, in shares of the axes' sides, and how bad it would be.
    size : (width, height)
        Of the axes, inches.
    """
    taken: list[tuple[float, float, float, float]] = []
    for tag in tags:
        width, height = _LETTER * len(tag.text) / size[0], _HEIGHT / size[1]
        boxes = [_box(tag, dx, dy, width, height, size) for dx, dy in _AROUND]
        costs = [_cost(box, taken, obstacles) + 0.01 * i for i, box in enumerate(boxes)]
        best = min(range(len(boxes)), key=costs.__getitem__)
        x0, y0, x1, y1 = boxes[best]
        taken.append(boxes[best])
        style = {"color": tag.color, "fontsize": TEXT, "va": "center", "ha": "center", "zorder": 5}
        axes.text((x0 + x1) / 2, (y0 + y1) / 2, tag.text, transform=axes.transAxes, **style)
        if best >= _NEAR:  # far from its point: a thin leader says which it is
            near = min(max(tag.x, x0), x1), min(max(tag.y, y0), y1)
            leader = {"color": tag.color, "linewidth": 0.6, "transform": axes.transAxes}
            axes.plot([tag.x, near[0]], [tag.y, near[1]], **leader)


# Directions in which a name may stand from its point, the dearest first, then the same farther off.
_DIRECTIONS = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1))
_AROUND = [(r * dx, r * dy) for r in (1, 2.4, 4) for dx, dy in _DIRECTIONS]
_NEAR = len(_DIRECTIONS)
_AWAY = 0.11  # inches between a point and its name


def _box(
    tag: Tag, dx: float, dy: float, width: float, height: float, size: tuple[float, float]
) -> tuple[float, float, float, float]:
    x = tag.x + dx * _AWAY / size[0] + (width / 2) * ((dx > 0) - (dx < 0))
    y = tag.y + dy * _AWAY / size[1] + (height / 2) * ((dy > 0) - (dy < 0))
    return x - width / 2, y - height / 2, x + width / 2, y + height / 2


def _cost(
    box: tuple[float, float, float, float],
    taken: Sequence[tuple[float, float, float, float]],
    obstacles: Sequence[tuple[float, float, float]],
) -> float:
    x0, y0, x1, y1 = box
    outside = max(0.0, -x0, x1 - 1) + max(0.0, -y0, y1 - 1)
    covered = sum(x0 < a1 and a0 < x1 and y0 < b1 and b0 < y1 for a0, b0, a1, b1 in taken)
    hidden = sum(w for x, y, w in obstacles if x0 <= x <= x1 and y0 <= y <= y1)
    return 20 * outside + 3 * covered + hidden
