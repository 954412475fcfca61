"""``dsnc version``: about this installation."""

from dsnc.cli.common import AsJson, print_json, print_table

_PACKAGES = ("numpy", "scipy", "scikit-learn", "torch", "safetensors", "typer", "rich")


def version(as_json: AsJson = False) -> None:
    """Print the version and those of its dependencies, for bug reports.

    Example: dsnc version --json
    """
    import platform

    from dsnc.versions import versions

    found = {**versions(*_PACKAGES), "system": platform.platform()}
    if as_json:
        print_json(found)
    else:
        print_table(["", ""], list(found.items()))
