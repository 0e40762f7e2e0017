"""The format of an answer by the ending of the file that it goes to."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

if TYPE_CHECKING:
    from pathlib import Path

#: Output formats by file suffix.
_ENDINGS = {f".{name}": name for name in ("csv", "json", "jsonl", "parquet")} | {".md": "markdown"}
#: Suffixes of files for people: these get the default, a table.
TEXT_ENDINGS = {"", ".txt", ".text", ".log", ".out"}


def format_of_ending(*own: str) -> Callable[[click.Context, click.Parameter, str], str]:
    """Return the callback of --format: without a given format, that of the file's ending applies.

    Args:
        own: suffixes that the command itself interprets.
    """

    def of_ending(ctx: click.Context, param: click.Parameter, value: str) -> str:
        output: Path | None = ctx.params.get("output")
        if output is None or ctx.get_parameter_source(str(param.name)) is not ParameterSource.DEFAULT:
            return value
        ending = output.suffix.lower()
        if ending not in _ENDINGS and ending not in TEXT_ENDINGS and ending not in own:
            known = ", ".join([*_ENDINGS, *own, ".txt"])
            raise click.UsageError(f"{output}: no format has this ending; expected {known}, or --format.")
        return _ENDINGS.get(ending, value)

    return of_ending
