"""Hidden options: passes and layers as the reference analyser counts them, to find its errors."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..engine.errors import UsageError
from .common import open_lake, render_rows, say

if TYPE_CHECKING:
    from collections.abc import Callable

    import duckdb

    from ..lake import Lake

    Given = tuple[str | None, int | None, int | None]


#: The word without a value; `reference` is its former value.
COMPAT = click.Choice(["compat", "reference"])


def compat_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--compat` and its options to a command, which runs only without it."""

    @functools.wraps(command)
    def answer(
        lake: Path | None,
        *,
        compat: str | None,
        anchor: str | None,
        num_layers: int | None,
        blocks_per_layer: int | None,
        **others: Any,
    ) -> None:
        given = (anchor, num_layers, blocks_per_layer)
        if compat is None and any(value is not None for value in given):
            raise UsageError(
                "--anchor, --num-layers and --blocks-per-layer need --compat. "
                "To set them for the trace: tracelake set TRACE anchor=REGEX num_layers=N."
            )
        if compat is None:
            command(lake, **others)
        else:
            _print_reference(lake, given, **others)

    count = click.IntRange(1)
    answer = click.option("--blocks-per-layer", type=count, hidden=True, help="Anchors in one layer.")(answer)
    answer = click.option("--num-layers", type=count, hidden=True, help="Layers of the model.")(answer)
    answer = click.option("--anchor", hidden=True, help="Text that the anchor kernel's name contains.")(answer)
    return click.option(
        "--compat", is_flag=False, flag_value="compat", type=COMPAT, hidden=True,
        help="Count as the reference analyser does, errors included.",
    )(answer)  # fmt: skip


def _print_reference(
    lake: Path | None, given: Given, trace: str, format_: str, output: Path | None, limit: int, **of_layers: str | None
) -> None:
    """Print passes, or for a command with a pass its layers; end with 1 where there is no pass."""
    opened = open_lake(lake, trace=trace)
    passes = opened.compat_passes(trace, *given)
    chosen = dict(passes.select("pass_id, chosen").fetchall())
    if not chosen:
        anchor, layers, anchors, count = opened.reference_plan(trace, *given).fetchall()[0]
        say(
            f"{trace}: no anchor known. Give --anchor TEXT." if anchor is None else
            f"{trace}: {anchors} kernels contain {anchor!r}, which makes {count} passes of {layers} layers."
        )  # fmt: skip
        raise SystemExit(1)
    answer = _layers(opened, trace, given, chosen, of_layers["pass_"]) if "pass_" in of_layers else passes
    render_rows(answer, format_, output, limit)


def _layers(
    opened: Lake, trace: str, given: Given, chosen: dict[int, bool], wanted: str | None
) -> duckdb.DuckDBPyRelation:
    """Return the layers of the wanted pass; default: of the chosen one, or of all if none is chosen."""
    if wanted is None:
        return opened.compat_layers(trace, *given, pass_id=next((one for one in chosen if chosen[one]), "all"))
    if wanted == "all":
        return opened.compat_layers(trace, *given)
    if not wanted.isdecimal() or int(wanted) not in chosen:
        raise UsageError(f"--pass {wanted}: the reference counts passes 0 to {max(chosen)}, or give all.")
    return opened.compat_layers(trace, *given, pass_id=int(wanted))
