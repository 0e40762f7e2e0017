"""What commands share: options, opening the lake, the pass to show, where answers and messages go."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..engine.errors import InputError, UsageError
from ..engine.storage.layout import FORMAT_VERSION
from ..engine.storage.paths import Place, place_of
from ..reports.output.files import check_target, write_text
from .endings import format_of_ending

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import duckdb

    from ..lake import Lake
    from ..reports.output.render import Part
    from ..reports.output.screen import Screen

#: The lakes that a command has opened.
_opened: list[Lake] = []
FORMATS = ("table", "csv", "json", "jsonl", "parquet", "markdown")
#: Upper limits for the sequences or tokens of a workload, and for ranks of a degree of parallelism: far beyond reality.
MOST_TOKENS = 10**9
MOST_RANKS = 10**6
#: More rows than any table has.
MOST_ROWS = 2**60


class _OutputFile(click.Path):
    """A file to write whose folder exists, checked before a long computation starts."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path = super().convert(value, param, ctx)
        check_target(os.fsdecode(path))
        return path


class _LakePlace(click.Path):
    """A folder, or an address in an object store."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return place_of(value) if isinstance(value, str) else super().convert(value, param, ctx)


class _RowLimit(click.IntRange):
    """A number of rows to show, at most what DuckDB computes with."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return min(super().convert(value, param, ctx), MOST_ROWS)


#: The type of --lake.
LAKE = _LakePlace(path_type=Path)
#: The type of every --limit.
ROWS = _RowLimit(0)
#: The type of every -o that names a file.
OUTPUT = _OutputFile(dir_okay=False, path_type=Path)
#: The types of options that count sequences or tokens of a workload.
TOKENS = click.IntRange(1, MOST_TOKENS)
CACHED_TOKENS = click.IntRange(0, MOST_TOKENS)
RANKS = click.IntRange(1, MOST_RANKS)


def format_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --format, -o and --limit to a command."""
    return output_options()(command)


def output_options(
    *more: str, output: str = "Write to a file.", limit: int = 200, by_ending: bool = True, own: Sequence[str] = ()
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that adds --format, with the command's own formats, -o and --limit.

    Without `by_ending` the command itself interprets the suffix of its file, else only those in `own`.
    """

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        command = click.option(
            "--limit",
            type=ROWS,
            default=limit,
            show_default=True,
            help="Rows shown of a table; 0 for all.",
        )(command)
        command = spreadsheet_option(screen_options(command))
        command = click.option("-o", "--output", type=OUTPUT, is_eager=True, help=output)(command)
        return click.option(
            "--format",
            "format_",
            type=click.Choice([*FORMATS, *more]),
            default="table",
            show_default=not by_ending,
            callback=format_of_ending(*own) if by_ending else None,
            help=f"Format of the answer{'; default: by the ending of -o, else table' if by_ending else ''}.",
        )(command)

    return add


def screen_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --wide and --sort to a command; `screen` and `render_rows` read their values."""
    command = click.option(
        "--wide", is_flag=True, expose_value=False, callback=_remember, help="On a terminal, all columns, never cut."
    )(command)
    return click.option(
        "--sort", metavar="COLUMN", expose_value=False, callback=_remember,
        help="Sort by a column: numbers from the largest, words from A; equals by the other columns.",
    )(command)  # fmt: skip


def ray_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --ray and --ray-option to a command."""
    command = click.option(
        "--ray-option", "ray_options", multiple=True, metavar="KEY=VALUE",
        help="An option of Ray for each task: num_cpus, memory (bytes), resources, max_retries, runtime_env.",
    )(command)  # fmt: skip
    return click.option(
        "--ray", metavar="ADDRESS", help="Do the work on a Ray cluster: auto, HOST:PORT or ray://HOST:PORT."
    )(command)


def pairs(settings: tuple[str, ...]) -> dict[str, str]:
    """Return the keys and values of words KEY=VALUE.

    Raises:
        UsageError: a word has no equals sign.
    """
    found = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals:
            raise UsageError(f"{setting}: expected KEY=VALUE, as in num_layers=36.")
        found[key.strip()] = value.strip()
    return found


def spreadsheet_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --spreadsheet to a command; `for_spreadsheets` returns its value."""
    return click.option(
        "--spreadsheet/--no-spreadsheet",
        default=None,
        expose_value=False,
        callback=_remember,
        help="In CSV, put ' before text that a spreadsheet would run as a formula. Default: with -o.",
    )(command)


def for_spreadsheets() -> bool | None:
    """Return whether CSV is for a spreadsheet; None if not given."""
    given: bool | None = _given("spreadsheet")
    return given


def _remember(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    """Store an option for `render_rows` and `screen`: it only changes how an answer looks."""
    ctx.meta[f"{__package__}.{param.name}"] = value


def _given(option: str) -> Any:
    return click.get_current_context().meta.get(f"{__package__}.{option}")


#: --color of the whole command line.
color_option = click.option(
    "--color", type=click.Choice(["auto", "always", "never"]), default="auto", show_default=True, expose_value=False,
    callback=_remember, help="Colours; auto: on a terminal, unless NO_COLOR is set.",
)  # fmt: skip


def screen(format_: str = "table", output: Path | None = None, *, wide: bool = False) -> Screen:
    """Return the properties of the terminal that an answer goes to; a file, or a format other than table, has none."""
    from ..reports.output.screen import PLAIN, screen_of

    if output is not None or format_ not in ("table", "compute-flow"):
        return PLAIN
    store = _opened[-1].store if _opened else None
    return screen_of(store, wide=wide or bool(_given("wide")), colour=_given("color") or "auto")


def listed(value: str | None) -> list[str]:
    """Return the comma-separated values of an option; empty if it is not given.

    Raises:
        BadParameter: it is given without a value.
    """
    words = [word.strip() for word in (value or "").split(",") if word.strip()]
    if value is not None and not words:
        raise click.BadParameter(f"{value!r} has no values; omit the option, or give comma-separated values.")
    return words


def write_answer(answer: str, output: Path | None) -> None:
    """Write a text to a file, or to stdout.

    Raises:
        InputError: the file cannot be written.
    """
    if output is None:
        click.echo(answer, nl=False)
    else:
        write_text(output, answer)


def say(text: str) -> None:
    """Print a message on stderr."""
    from ..engine.secrets import redact
    from ..engine.text import printable

    message = printable(f"tracelake: {redact(text)}")
    if sys.stderr.isatty():
        # Do not break long words such as paths.
        wrapper = textwrap.TextWrapper(
            max(shutil.get_terminal_size().columns - 1, 40), subsequent_indent="  ", replace_whitespace=False,
            break_long_words=False, break_on_hyphens=False,
        )  # fmt: skip
        message = "\n".join(map(wrapper.fill, message.split("\n")))
    click.echo(message, err=True)


def open_at(lake: Place | None, trace: str) -> Lake:
    """Open the given lake, as `open_lake` does, for queries about one trace: only its files are read.

    Raises:
        InputError: the trace is a path that does not exist, or cannot be ingested.
        UsageError: the name matches no trace, or more than one.
    """
    opened = open_lake(lake, trace=trace)
    opened.store.focus(opened.locate(trace))
    return opened


def open_lake(lake: Place | None, *, create: bool = False, trace: str | None = None, unsafe: bool = False) -> Lake:
    """Open the given lake; without one the default, or a cache if the trace is a path.

    Raises:
        InputError: the trace is a path that does not exist.
    """
    from ..lake import Lake

    is_path = trace is not None and _names_input(trace)
    default = Path("tracelake")
    is_lost = trace is not None and not is_path and not Path(trace).is_dir()
    is_lost = is_lost and (os.sep in str(trace) or str(trace).endswith((".json", ".csv", ".gz", ".zst")))
    # Runs that are folders have names like paths, and any name or filter may.
    if is_lost and not _selects(lake or default, str(trace)):
        raise InputError(f"{trace}: no such file.")
    if create or is_path:
        from ..engine.computing.memory import share_heaps

        share_heaps()
    if lake is not None:
        opened = _remembered(Lake(lake, create=create or is_path, unsafe=unsafe))
    elif not create and is_path and not (default / "lake.json").is_file():
        opened = _remembered(Lake(cache_lake()))
    else:
        opened = _remembered(Lake(default, create=create, unsafe=unsafe))
    if trace is not None:
        say_losses(opened, trace)
    return opened


def _selects(lake: Place, word: str) -> bool:
    """Return whether a word may be a name, the beginning of one, or a filter, in a lake that is there."""
    from ..lake import Lake

    key, equals, _ = word.partition("=")
    try:
        with Lake(lake, create=False) as opened:
            named = "SELECT 1 FROM traces WHERE run = $1 OR starts_with(trace, $1) LIMIT 1"
            return bool(equals and os.sep not in key) or bool(opened.rows(named, [word]))
    except (InputError, UsageError):
        return False


def _names_input(trace: str) -> bool:
    from ..analysis.traces import names_input

    return names_input(trace)


def say_losses(lake: Lake, trace: str) -> None:
    """Report what was lost of a trace given by its path, so that the answer does not seem complete."""
    if not _names_input(trace):
        return
    [(rejected, skipped, truncated)] = lake.rows(
        "SELECT rejected_count, skipped_bytes, truncated FROM _catalog WHERE trace_id = $1", [lake.locate(trace)]
    )
    losses = [f"rejected events: {rejected}"] if rejected else []
    losses += [f"skipped bytes: {skipped}"] if skipped else []
    losses += ["truncated"] if truncated else []
    if losses:
        say(f"{trace}: {', '.join(losses)}; answers are about the rest. Details: `tracelake doctor {trace}`.")


def open_default(lake: Place | None) -> Lake:
    """Open the given lake, else the default if it exists, else the cache: for queries not about one trace."""
    from ..lake import Lake

    if lake is not None:
        return _remembered(Lake(lake, create=False))
    default = Path("tracelake")
    return _remembered(Lake(default if (default / "lake.json").is_file() else cache_lake("models")))


def _remembered(lake: Lake) -> Lake:
    _opened.append(lake)
    return lake


def recovered(error: Exception) -> bool:
    """Return whether a failed command can run again: a damaged file was found and is now excluded."""
    return any(lake.store.recover(error) for lake in _opened)


def close_lakes() -> None:
    """Close the lakes that a command has opened."""
    while _opened:
        _opened.pop().close()


def cache_lake(name: str = "lake") -> Path:
    """Return the folder of the cache lake, used when no lake is given."""
    try:
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError:
        raise UsageError("there is no home folder for a cache: name a lake with --lake or TRACELAKE_LAKE.") from None
    # A cache of another format is not migrated.
    return cache / "tracelake" / f"{name}-{FORMAT_VERSION}"


def page_file(format_: str, output: Path | None) -> Path | None:
    """Return the file of -o if it is to be a page: it ends in .html, and no other format is requested."""
    return output if output is not None and output.suffix.lower() == ".html" and format_ == "table" else None


def device_column(answer: duckdb.DuckDBPyRelation) -> str:
    """Return the device column, to start a list of columns, if an answer covers several devices."""
    [(devices,)] = answer.aggregate("count(DISTINCT device)").fetchall()
    return "device, " if devices > 1 else ""


def print_rows(
    opened: Lake, name: str, answer: duckdb.DuckDBPyRelation, format_: str, output: Path | None, limit: int
) -> None:
    """Print rows of a relation: a table or Markdown has only the main columns."""
    from ..reports.output.columns import for_people

    shown = for_people(opened.store, name, answer) if format_ in ("table", "markdown") else answer
    render_rows(shown, format_, output, limit)


def render_rows(answer: duckdb.DuckDBPyRelation, format_: str, output: Path | None, limit: int) -> None:
    """Print any rows."""
    from ..reports.output.render import render

    shown = screen(format_, output)
    render(_sorted(answer), format_, output, limit=limit, spreadsheet=for_spreadsheets(), screen=shown)


def render_parts(parts: Sequence[Part], format_: str, output: Path | None, limit: int) -> None:
    """Print tables and lines one after another; --sort applies to the tables."""
    from ..reports.output import render
    from ..reports.output.table import Table

    found = [part if isinstance(part, str | Table) else _sorted(part) for part in parts]
    render.render_parts(found, format_, output, limit=limit, screen=screen(format_, output))


def _sorted(answer: duckdb.DuckDBPyRelation) -> duckdb.DuckDBPyRelation:
    """Return an answer in the order of --sort; ties are broken by the other columns, from the left.

    Raises:
        UsageError: it has no such column.
    """
    from ..engine.sql.near import guess
    from ..reports.output.render import is_number

    wanted = _given("sort")
    if wanted is None:
        return answer
    if wanted not in answer.columns:
        raise UsageError(
            f"--sort {wanted}: no such column.{guess(wanted, answer.columns)} The columns: {', '.join(answer.columns)}."
        )
    down = " DESC" if is_number(answer.types[answer.columns.index(wanted)]) else ""
    first, *ties = (
        '"{}"'.format(column.replace('"', '""'))
        for column in [wanted, *(column for column in answer.columns if column != wanted)]
    )
    return answer.order(", ".join([f"{first}{down} NULLS LAST", *ties]))
