"""``dsnc version`` and ``dsnc warm-up``: about this installation."""

from typing import Annotated

import typer

from dsnc.cli.common import STATE, AsJson, note, print_json, print_table

_PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "torch", "safetensors", "typer", "rich")


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


def warm_up(
    training: Annotated[
        bool,
        typer.Option(
            "--training", help="Also compile the training kernels, which takes as long again."
        ),
    ] = False,
) -> None:
    """Compile the kernels now, so that the first prediction does not have to.

    This takes about 20 seconds once per installation, or a second or two if all are compiled.

    Example: dsnc warm-up --training
    """
    import sys
    import time

    from dsnc.codes._warm_up import STEPS
    from dsnc.features import columns
    from dsnc.progress import progress_bar
    from dsnc.rerank._warm_up import STEPS as OF_SECOND_STAGE

    steps = {**STEPS, **OF_SECOND_STAGE, "texts": columns.warm_up}
    if training:
        from dsnc.fast._warm_up import STEPS as OF_TRAINING

        steps |= OF_TRAINING
    on_screen = sys.stderr.isatty() and not STATE.quiet
    begin = time.perf_counter()
    with progress_bar(len(steps), on_screen, "kernels") as show:
        for done, (name, compile_some) in enumerate(steps.items()):
            if not on_screen:
                note(f"{done + 1}/{len(steps)}: {name}")
            show(done, name)
            compile_some()
        show(len(steps), "")
    note(f"The kernels are ready ({time.perf_counter() - begin:.1f} s).")
