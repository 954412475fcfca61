"""What all figures share: colors, a look that no user's settings change, and ways out.

A figure goes into a page as SVG (`inline_svg`) or into a file (`save`). Figures are made with
matplotlib's objects: pyplot would keep them, and choose a back end for the user.
"""

import io
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from html import escape
from pathlib import Path
from typing import Any

from dsnc.errors import InputError, require
from dsnc.files import write_whole

# Okabe and Ito's colors, told apart by almost all eyes; shapes help the others, and printers.
COLORS: Mapping[str, str] = {
    "blue": "#0072b2",
    "vermillion": "#d55e00",
    "green": "#009e73",
    "purple": "#cc79a7",
    "orange": "#e69f00",
    "sky": "#56b4e9",
}
INK, FAINT, PAPER = "#1f2933", "#7b8794", "#fbfaf7"
# In a page a color is a variable, so that the page's dark style reaches into its figures.
_VARIABLES = {color: f"var(--{name})" for name, color in COLORS.items()} | {
    INK: "var(--ink)",
    FAINT: "var(--faint)",
    PAPER: "var(--panel)",
}
_LOOK = {
    "axes.edgecolor": FAINT,
    "axes.grid": True,
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlecolor": INK,
    "axes.titlelocation": "left",
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "axes.unicode_minus": True,
    "figure.facecolor": PAPER,
    "axes.facecolor": PAPER,
    "font.size": 10,
    "grid.alpha": 0.25,
    "grid.color": FAINT,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "lines.linewidth": 1.6,
    "lines.markersize": 5,
    "svg.hashsalt": "dsnc",  # so that the same figure names its parts the same every time
    "svg.fonttype": "none",  # letters stay letters: small files, text that can be found and copied
    "text.color": INK,
    "text.parse_math": False,  # a dollar sign is not mathematics
    "xtick.color": FAINT,
    "xtick.labelcolor": INK,
    "ytick.color": FAINT,
    "ytick.labelcolor": INK,
}


@contextmanager
def look(caller: str, **changes: Any) -> Iterator[None]:
    """Set matplotlib's settings for a figure: the same picture and bytes whatever the user's are.

    Parameters
    ----------
    caller : str
        Who needs matplotlib, for the message where it is missing.
    **changes
        Other settings, over those of this file.
    """
    matplotlib = require("matplotlib", extra="report", caller=caller)
    require("matplotlib.figure", extra="report", caller=caller)
    settings = dict(matplotlib.rcParamsDefault)
    del settings["backend"]  # choosing one is the user's affair
    with matplotlib.rc_context({**settings, **_LOOK, **changes}):
        yield


def new_figure(width: float, height: float, layout: str | None = "constrained") -> tuple[Any, Any]:
    """Return a figure of so many inches and its axes; inside `look`."""
    figure_module = require("matplotlib.figure", extra="report", caller="the report")
    figure = figure_module.Figure(figsize=(width, height), layout=layout)
    return figure, figure.add_subplot()


def inline_svg(figure: Any, name: str, description: str) -> str:
    """Return a figure as an SVG element for a page.

    It is as wide as its place, described to who cannot see it, colored by the page's variables,
    and names its parts so that no other figure has the same names.
    """
    file = io.StringIO()
    no_date = {"Date": None, "Creator": None, "Format": None, "Type": None}
    figure.savefig(file, format="svg", metadata=no_date, transparent=True)
    text = file.getvalue()
    text = text[text.index("<svg") :]
    box = re.search(r'viewBox="([^"]+)"', text)
    body = text[text.index(">") + 1 :]
    # The first defs hold a style for "*", which would reach the whole page.
    body = re.sub(r"<defs>\s*<style.*?</style>\s*</defs>", "", body, count=1, flags=re.DOTALL)
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    body = re.sub(r"<!--.*?-->", "", body, flags=re.DOTALL).replace("xlink:href", "href")
    body = _own_names(body, name)
    body = re.sub(r'(?<= d=")[^"]*', _rounded, body)
    body = re.sub(r"((?:fill|stroke): )(#[0-9a-f]{6})", _variable, body)
    body = re.sub(r"font: ([0-9.]+)px [^;\"]*", r"font-size: \1px", body)
    body = re.sub(r"\s*\n\s*", "\n", body)
    view = box[1] if box else "0 0 100 100"
    head = f'<svg viewBox="{view}" role="img" aria-label="{escape(description)}">'
    return head + body.strip()


def save(figure: Any, path: Path, kind: str | None = None) -> Path:
    """Write a figure to a file as PNG or SVG, by default what its name ends in."""
    kind = kind or path.suffix.lower().lstrip(".")
    no_date = {"Date": None} if kind == "svg" else {}
    return write_whole(
        path, lambda file: figure.savefig(file, format=kind, dpi=200, metadata=no_date)
    )


def write_picture(caller: str, path: Path, draw: Callable[[], Any]) -> Path:
    """Write the figure that `draw` makes to a file that ends in .png or .svg."""
    if path.suffix.lower() not in (".png", ".svg"):
        raise InputError(f"path={str(path)!r} does not end in .png or .svg; choose one of them.")
    # Letters as shapes: a file is shown by programs that have other fonts, or none.
    with look(caller, **{"svg.fonttype": "path"}):
        return save(draw(), path)


@lru_cache(maxsize=1)
def _known_letters() -> frozenset[int]:
    """Return the code points of DejaVu Sans, which matplotlib brings and `look` has."""
    manager = require("matplotlib.font_manager", extra="report", caller="the report")
    path = manager.findfont("DejaVu Sans")
    return frozenset(manager.get_font(path).get_charmap())


def readable(label: str, length: int) -> str:
    """Shorten a label, and spell out what the font cannot show."""
    known = _known_letters()
    shown = label if len(label) <= length else label[: length - 1] + "…"
    return "".join(c if c.isprintable() and ord(c) in known else f"U+{ord(c):04X}" for c in shown)


def _own_names(body: str, name: str) -> str:
    """Drop names that nothing refers to; begin the others with the figure's own."""
    used = set(re.findall(r'(?:url\(#|href="#)([^)"]+)', body))
    body = re.sub(r' id="([^"]*)"', lambda m: f' id="{name}-{m[1]}"' if m[1] in used else "", body)
    return re.sub(r'(url\(#|href="#)', rf"\g<1>{name}-", body)


def _rounded(match: re.Match[str]) -> str:
    """Return a path with two decimals: a hundredth of a point is seen by nobody."""
    path = re.sub(r"-?\d+\.\d{3,}", lambda m: f"{float(m[0]):.2f}", match[0])
    # After M and L further points are lines anyway.
    return path if re.search("[CQ]", path) else re.sub(r"\s*\n(?:L )?", " ", path).rstrip()


def _variable(match: re.Match[str]) -> str:
    return match[1] + _VARIABLES.get(match[2], match[2])
