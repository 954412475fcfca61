"""What the site holds besides this folder: pages and sources that live elsewhere in the tree.

On GitHub a link from here to ``../examples/quick_start.py`` works as it stands. The site gets a
copy of every such file, and the links are turned to the copies.
"""

import posixpath
import re
from collections.abc import Iterator
from inspect import getdoc
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PAGES = {
    name: name.lower() for name in ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
}  # and their places on the site
SOURCES = ("examples/*.py", "examples/*/[!_]*", "benchmarks/**/*.py", "tests/outside/*.py")
RESULTS = "results/README.md"  # made by `dsnc reproduce`; a tree without them has a site, too
NO_RESULTS = "# Results\n\nThis copy holds none. `dsnc reproduce all --preset paper` makes them.\n"

SHIM = "https://unpkg.com/iframe-worker/shim"  # the theme's way to search pages from the disk
OWN_SHIM = "offline_search.js"  # ours: the site fetches nothing from elsewhere

_LINK = re.compile(r"(\]\()([^)#:\s]+)([)#])")
_OPTIONS = re.compile(r"(<!-- options -->\n).*(<!-- end of options -->)", re.DOTALL)
_DECODERS = re.compile(r"(<!-- decoders -->\n).*(<!-- end of decoders -->)", re.DOTALL)


def on_files(files: Any, config: Any) -> Any:
    """Add the files from outside, and a word about results where there are none."""
    from mkdocs.structure.files import File

    for source, page in PAGES.items():
        files.append(File.generated(config, page, abs_src_path=str(ROOT / source)))
    for path in (path for pattern in SOURCES for path in sorted(ROOT.glob(pattern))):
        name = path.relative_to(ROOT).as_posix()
        files.append(File.generated(config, name, abs_src_path=str(path)))
    if files.get_file_from_path(RESULTS) is None:
        files.append(File.generated(config, RESULTS, content=NO_RESULTS))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Turn links that leave this folder, or come from outside of it, to where things are here."""
    folder = posixpath.dirname(page.file.src_uri)
    outside = page.file.src_uri in PAGES.values()

    def turned(match: re.Match[str]) -> str:
        place = posixpath.normpath(posixpath.join("" if outside else f"docs/{folder}", match[2]))
        inside = PAGES.get(place, place.removeprefix("docs/"))
        return f"{match[1]}{posixpath.relpath(inside, folder or '.')}{match[3]}"

    return _LINK.sub(turned, with_options(with_decoders(markdown)))


def on_post_page(output: str, page: Any, config: Any) -> str:
    """Take our own script for searching pages from the disk."""
    return output.replace(SHIM, posixpath.relpath(OWN_SHIM, posixpath.dirname(page.url) or "."))


def on_post_template(output_content: str, template_name: str, config: Any) -> str:
    """Take it on the page of what is not found, too."""
    return output_content.replace(SHIM, f"/{OWN_SHIM}")


def with_decoders(markdown: str) -> str:
    """Return a page with the table of the decoders that there are, where it has a place for it."""
    return _DECODERS.sub(lambda place: f"{place[1]}{_decoder_table()}{place[2]}", markdown)


def _decoder_table() -> str:
    """Return what decoders say of themselves: their docstrings, and the settings they declare."""
    from dsnc.decoders import DECODERS

    lines = ["| name | what it does | what a row costs | settings |", "|---|---|---|---|"]
    for name, kind in DECODERS.items():
        if kind.settings is not None:
            does, costs = ((getdoc(part) or "").partition("\n")[0] for part in (kind, kind.cost))
            settings = ", ".join(f"`{setting}`" for setting in kind.settings)
            costs = costs.removeprefix("Return ").rstrip(".").replace("*", "·")
            lines.append(f"| `{name}` | {does.rstrip('.')} | {costs} | {settings} |")
    return "\n".join(lines) + "\n"


def with_options(markdown: str) -> str:
    """Return a page with the options of all commands, where it has a place for them."""
    return _OPTIONS.sub(lambda place: f"{place[1]}{_option_tables()}{place[2]}", markdown)


def _option_tables() -> str:
    """Return what the commands declare: a table for each."""
    import typer

    from dsnc.cli import app

    parts = []
    for name, command in _commands(typer.main.get_command(app), "dsnc"):
        lines = [f"### Options of `{name}`", "", "| option | |", "|---|---|"]
        for option in command.params:
            if option.param_type_name == "option" and not option.hidden:
                names = ", ".join(f"`{each}`" for each in (*option.opts, *option.secondary_opts))
                says = " ".join((option.help or "").split()).replace("|", "\\|")
                lines.append(f"| {names} | {says} |")
        parts.append("\n".join(lines) + "\n\n")
    return "".join(parts)


def _commands(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Yield each command by its whole name."""
    for part, each in getattr(command, "commands", {}).items():
        yield from _commands(each, f"{name} {part}")
    if not hasattr(command, "commands"):
        yield name, command
