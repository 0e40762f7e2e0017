"""Answers in the requested format. Only the answer goes to stdout."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import math
import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from decimal import Decimal
from itertools import count
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from ...engine.errors import InputError, UsageError
from ...engine.storage.scratch import scratch_folder
from ...engine.storage.table_types import for_parquet
from ...engine.text import cell, json_text, markdown, markdown_prose, printable
from .files import writing
from .grid import write_grid
from .screen import PLAIN, Screen
from .table import Table, decimal

if TYPE_CHECKING:
    import duckdb

    #: A piece of output: an answer, a table or a line.
    Part = duckdb.DuckDBPyRelation | Table | str

FORMATS = ("table", "csv", "json", "jsonl", "parquet", "markdown")
#: Values that CSV holds unchanged.
_NUMBERS = (int, float, Decimal, type(None))
#: Maximum rows of a table for people; the other formats have all.
TABLE_ROWS = 200


def render(
    relation: duckdb.DuckDBPyRelation,
    format: str = "table",
    output: Path | None = None,
    *,
    limit: int = TABLE_ROWS,
    spreadsheet: bool | None = None,
    screen: Screen = PLAIN,
) -> None:
    """Write an answer to a file, or to stdout.

    Args:
        relation: the answer.
        format: one of FORMATS.
        output: the file; default: stdout.
        limit: rows shown of a table or Markdown; the number left out is reported on stderr. 0 for all.
        spreadsheet: prevent text of CSV from running as a formula; default: only in a file.
        screen: the terminal, for a table on stdout.

    Raises:
        InputError: the file cannot be written.
        UsageError: Parquet would go to a terminal.
    """
    if format == "parquet":
        _parquet(relation, output)
        return
    safe = output is not None if spreadsheet is None else spreadsheet
    try:
        with _opened(output) as out:
            _text(relation, format, out, limit, spreadsheet=safe, screen=screen)
    except _BrokenOffError as error:
        if output is not None and error.__cause__ is not None:
            # On a retry a file can be written again, unlike stdout.
            raise error.__cause__ from None
        raise


def render_parts(
    parts: Sequence[Part],
    format: str = "table",
    output: Path | None = None,
    *,
    limit: int = TABLE_ROWS,
    screen: Screen = PLAIN,
) -> None:
    """Write answers, tables and lines in sequence, separated by blank lines.

    Args:
        parts: what to write.
        format: table or markdown.
        output: the file; default: stdout.
        limit: rows shown of an answer, as in `render`.
        screen: the terminal of stdout.

    Raises:
        InputError: the file cannot be written.
    """
    with _opened(output) as out:
        before: Part | None = None
        for part in parts:
            # A table in plain text has a blank line at both ends.
            if before is not None and (format == "markdown" or isinstance(before, str)):
                out.write("\n")
            before = part
            if isinstance(part, str):
                _write_line(part, format, out, screen)
            elif isinstance(part, Table):
                write_table(part, format, out, screen)
            else:
                _text(part, format, out, limit, screen=screen)


def _write_line(line: str, format: str, out: IO[str], screen: Screen) -> None:
    text = markdown_prose(line) if format == "markdown" else printable(line)
    out.write((text if screen.width is None else textwrap.fill(text, screen.width - 1)) + "\n")


def write_table(table: Table, format: str, out: IO[str], screen: Screen = PLAIN) -> None:
    """Write a table with its title above."""
    if table.title:
        title = markdown_prose(table.title) if format == "markdown" else printable(table.title)
        if screen.width is not None:
            title = textwrap.fill(title, screen.width - 1)
        out.write(f"{title}\n\n" if format == "markdown" else f"{title}\n")
    names, numeric = [column.name for column in table.columns], [column.numeric for column in table.columns]
    if format == "markdown":
        _markdown(names, numeric, table.cells(), out)
    else:
        write_grid(names, numeric, table.cells(), out, screen)


@contextlib.contextmanager
def _opened(output: Path | None) -> Iterator[IO[str]]:
    with writing(output), output.open("w", encoding="utf-8", newline="") if output else _stdout() as out:
        yield out


class _stdout:  # noqa: N801
    """sys.stdout as a context manager that does not close it."""

    def __enter__(self) -> IO[str]:
        return sys.stdout

    def __exit__(self, *_: object) -> None:
        sys.stdout.flush()


def write_csv(relation: duckdb.DuckDBPyRelation, out: IO[str], *, spreadsheet: bool) -> None:
    """Write an answer as CSV.

    Args:
        relation: the answer.
        out: a file opened with newline="".
        spreadsheet: prevent text from running as a formula.
    """

    def shown(row: Sequence[Any]) -> list[Any]:
        return [
            value if isinstance(value, _NUMBERS) else cell(_as_text(value), spreadsheet=spreadsheet) for value in row
        ]

    rows = _begun(relation)
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(shown(relation.columns))
    writer.writerows(map(shown, rows))


def _text(
    relation: duckdb.DuckDBPyRelation, format: str, out: IO[str], limit: int, *, spreadsheet: bool = False,
    screen: Screen = PLAIN,
) -> None:  # fmt: skip
    columns = relation.columns
    if format == "csv":
        write_csv(relation, out, spreadsheet=spreadsheet)
    elif format == "jsonl":
        keys = _keys(columns)
        for row in _begun(relation):
            out.write(_json_object(keys, row) + "\n")
    elif format == "json":
        keys, separator = _keys(columns), "["
        for row in _begun(relation):
            out.write(separator + "\n" + _json_object(keys, row))
            separator = ","
        out.write("[]\n" if separator == "[" else "\n]\n")
    else:
        rows = list(_rows(relation, limit + 1 if limit else 0))
        more = bool(limit) and len(rows) > limit
        shown = rows[:limit] if more else rows
        cells = [[shown_value(value) for value in row] for row in shown]
        numeric = [is_number(kind) for kind in relation.types]
        if format == "markdown":
            _markdown(columns, numeric, cells, out)
        else:
            write_grid(columns, numeric, cells, out, screen)
        if more:
            out.flush()
            sys.stderr.write(f"tracelake: the first {limit} rows; --limit 0 shows all.\n")


class _BrokenOffError(InputError):
    """Computing an answer failed after its beginning was written."""


def _begun(relation: duckdb.DuckDBPyRelation) -> Iterator[tuple[Any, ...]]:
    """Return the rows of an answer, with the first ones computed, so that an immediate failure writes nothing."""
    rows = _rows(relation)
    first = next(rows, None)
    return iter(()) if first is None else _continued(first, rows)


def _continued(first: tuple[Any, ...], rows: Iterator[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    import duckdb

    yield first
    try:
        yield from rows
    except duckdb.InterruptException:
        raise
    except duckdb.Error as error:
        raise _BrokenOffError(
            f"the answer breaks off here: {str(error).partition(chr(10))[0]}\n"
            "  With -o FILE it is computed again without the file that cannot be read."
        ) from error


def _rows(relation: duckdb.DuckDBPyRelation, limit: int = 0) -> Iterator[tuple[Any, ...]]:
    kinds = list(map(str, relation.types))
    if "TIMESTAMP_NS" in kinds:
        # Python's times end at microseconds.
        columns = (
            f"strftime(#{place}, '%Y-%m-%dT%H:%M:%S.%n')" if kind == "TIMESTAMP_NS" else f"#{place}"
            for place, kind in enumerate(kinds, 1)
        )
        relation = relation.project(", ".join(columns))
    yield from (relation.limit(limit) if limit else relation).iter_rows()


def _keys(columns: Sequence[str]) -> list[str]:
    """Return unique column names as keys of an object: `ts`, `ts_1`, as DuckDB names them in a Parquet file."""
    keys: list[str] = []
    for name in columns:
        others = (f"{name}_{nth}" for nth in count(1))
        keys.append(name if name not in keys else next(one for one in others if one not in {*keys, *columns}))
    return keys


def _json_object(keys: list[str], row: tuple[Any, ...]) -> str:
    values = dict(zip(keys, map(plain, row), strict=True))
    return json_text(json.dumps(values, ensure_ascii=False, allow_nan=False))


def plain(value: Any) -> Any:
    """Return a value that JSON can hold; NaN and infinity become null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    return value if isinstance(value, str | int | bool) or value is None else str(value)


def _parquet(relation: duckdb.DuckDBPyRelation, output: Path | None) -> None:
    if output is None and sys.stdout.isatty():
        raise UsageError("Parquet is binary: give a file with -o, or redirect stdout.")
    import duckdb

    columns = for_parquet(zip(_keys(relation.columns), map(str, relation.types), strict=True))
    with scratch_folder() as folder:
        beside = folder / "answer.parquet"
        try:
            relation.project(columns).write_parquet(str(beside), compression="zstd")
        except duckdb.ConversionException as error:
            if "DECIMAL(38,0)" not in str(error):
                raise
            raise UsageError(
                "a number has more than 38 digits, the most of Parquet: CAST it AS DOUBLE or VARCHAR."
            ) from error
        with writing(output):
            if output is not None:
                shutil.copyfile(beside, output)
            else:
                sys.stdout.buffer.write(beside.read_bytes())


def _markdown(columns: list[str], numeric: list[bool], rows: list[list[str]], out: IO[str]) -> None:
    def line(cells: list[str]) -> str:
        return "| " + " | ".join(map(markdown, cells)) + " |\n"

    out.write(line(list(columns)))
    out.write(line(["---:" if right else "---" for right in numeric]))
    for row in rows:
        out.write(line(row))


def _as_text(value: Any) -> str:
    """Return a value as text: lists and structs, and what is in them, as JSON."""
    return json.dumps(plain(value), ensure_ascii=False) if isinstance(value, list | tuple | dict) else str(value)


def is_number(kind: Any) -> bool:
    """Return whether a DuckDB type is numeric."""
    return str(kind).startswith(("DECIMAL", "DOUBLE", "FLOAT")) or str(kind).endswith("INT") or str(kind) == "INTEGER"


def shown_value(value: Any) -> str:
    """Return a value of an answer in readable form."""
    if value is None:
        return ""
    if isinstance(value, float):
        return decimal(value)
    if isinstance(value, datetime):
        return value.isoformat(sep=" ", timespec="seconds")
    if isinstance(value, bool):
        return "yes" if value else "no"
    return _as_text(value)


def to_text(answer: duckdb.DuckDBPyRelation | Table, format: str = "table", screen: Screen = PLAIN) -> str:
    """Return an answer or a table as text."""
    out = io.StringIO()
    if isinstance(answer, Table):
        write_table(answer, format, out, screen)
    else:
        _text(answer, format, out, 0, screen=screen)
    return out.getvalue()
