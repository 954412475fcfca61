"""The parts of a page: what a template is given."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from dsnc.paper.experiments.tables import Table
from dsnc.pictures.drawing import inline_svg


@dataclass(frozen=True)
class Picture:
    """A figure with its caption: an SVG element, or the address of a small picture."""

    caption: str
    svg: str = ""
    source: str = ""
    description: str = ""  # of a small picture


@dataclass(frozen=True)
class Card:
    """A class that was taken for another: labels, pictures if there are any, and how often."""

    true: str
    predicted: str
    true_picture: str
    predicted_picture: str
    words: str


@dataclass(frozen=True)
class Block:
    """A heading and what stands under it."""

    anchor: str
    title: str
    words: Sequence[str] = ()
    pictures: Sequence[Picture] = ()
    table: Table | None = None
    folded: str = ""  # the line that opens the table; empty where it is open
    cards: Sequence[Card] = ()
    shades: Sequence[str] = ()  # of a scale below small pictures
    scale: Sequence[str] = field(default=())  # the words at its ends


def drawn(figure: Any, anchor: str, caption: str) -> Picture:
    """Return a matplotlib figure as a part of a page; its caption describes it."""
    return Picture(caption, svg=inline_svg(figure, anchor, caption))
