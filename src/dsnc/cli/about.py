"""``dsnc version`` and ``dsnc warm-up``: about this installation."""

from dsnc.cli.common import AsJson, note, print_json, print_table

_PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "torch", "safetensors", "typer", "rich")


def version(as_json: AsJson = False) -> None:
    """Print the version, and those of what it stands on: for reports of errors.

    Example: dsnc version --json
    """
    import platform

    from dsnc.versions import versions

    found = {**versions(*_PACKAGES), "system": platform.platform()}
    if as_json:
        print_json(found)
    else:
        print_table(["", ""], list(found.items()))


def warm_up() -> None:
    """Compile the kernels now, so that the first prediction need not (seconds, once).

    Example: dsnc warm-up
    """
    import time

    from dsnc.codes import warm_up
    from dsnc.features import TextFeatures

    begin = time.perf_counter()
    warm_up()
    TextFeatures(min_rows=1).fit_transform(["warm up"])
    note(f"The kernels are ready ({time.perf_counter() - begin:.1f} s).")
