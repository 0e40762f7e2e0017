"""Commands for a lake's own rows of lookup tables."""

from __future__ import annotations

from pathlib import Path

import click

from ..engine.storage.paths import Place
from .common import open_lake, say


@click.group()
def lookup() -> None:
    """Attach tables of measurements to the lake.

    \b
    Examples:
      tracelake lookup attach latencies
      tracelake lookup attach --help
    """


@lookup.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.pass_obj
def attach(lake: Place | None, folder: Path) -> None:
    """Read latency tables of matrix products: best times for kernel_roofline to compare with.

    FOLDER has Parquet files in the layout of aiconfigurator's systems/data: columns m, n, k, latency (in ms) and
    gemm_dtype or dtype; the chip is named by a column system or device, or by a folder, as h100_sxm. Of each product
    the least time counts; it goes to the lake's own lookup/attainable.csv. Nothing is downloaded.

    \b
    Examples:
      tracelake lookup attach latencies
      tracelake lookup attach latencies/h100_sxm
    """
    found = open_lake(lake, create=True).attach(folder)
    for why in found.skipped:
        say(f"left out: {why}.")
    say(f"{folder}: {found.tables} tables; the lake has least times of {found.products} products now.")
