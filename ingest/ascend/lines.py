"""Lines of a table: its header, the check that a line is a row, and its writer's quoting style."""

from __future__ import annotations

import csv
import itertools
import json
import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from ..credentials import SHORTEST_MATCH, holds_any
from .columns import Columns, columns_of

#: A longer line is damaged: the longest real ones have a few thousand bytes.
LINE_LIMIT = 1 << 20
#: When writers quote a field: if it contains a comma, a quote or a newline; also a TAB; or always.
STYLES = ("minimal", "minimal and tabs", "all")
_BOM = b"\xef\xbb\xbf"
_STYLE_LINES = 200
#: Between 1 and 1000: from these numbers on, the time between starts does not show its unit.
_UNDECIDED = Decimal(10), Decimal(100)
#: Starts from here on are in ns: since 1970, in µs only after the year 5100.
_LARGEST_US = Decimal(10) ** 17
#: Maximum number of texts of a column that are known to hold no credential.
_MOST_KNOWN = 32


@dataclass(frozen=True)
class Header:
    """The first line of a table.

    Attributes:
        columns: the columns it names.
        text: the original line, without its line ending.
        newline: the line ending.
        bom: the file starts with a byte order mark.
    """

    columns: Columns
    text: str
    newline: str
    bom: bool


def read_header(head: bytes) -> Header | None:
    """Return the header from the beginning of a table, None if its first line is not text."""
    bom = head.startswith(_BOM)
    line = head.removeprefix(_BOM).partition(b"\n")[0]
    try:
        text = line.decode("utf-8").removesuffix("\r")
    except UnicodeDecodeError:
        return None
    names = fields_of(text)
    if not names or not text.replace("\t", "").isprintable():
        return None
    return Header(columns_of(names), text, "\r\n" if line.endswith(b"\r") else "\n", bom)


def split_lines(text: bytes) -> Iterator[bytes]:
    """Yield the lines of a piece without line endings; a last line without one counts if not empty."""
    start = 0
    while start < len(text):
        end = text.find(b"\n", start)
        end = len(text) if end < 0 else end
        yield text[start:end].removesuffix(b"\r")
        start = end + 1


def count_lines(text: bytes) -> int:
    """Return the number of lines that `split_lines` yields."""
    return text.count(b"\n") + (not text.endswith(b"\n"))


def fields_of(line: str) -> list[str] | None:
    """Return the fields of a line, None if its quotes are invalid."""
    try:
        return next(csv.reader([line], strict=True), None)
    except csv.Error:
        return None


def row_of(line: bytes, width: int) -> tuple[list[str], str]:
    """Return a line's fields and an empty reason; or no fields and the reason why the line is not a row."""
    nothing = [""] * width
    if len(line) > LINE_LIMIT:
        return nothing, f"a line of {len(line)} bytes"
    text = line.decode("utf-8", "replace")
    if "\0" in text:
        return nothing, "a zero byte"
    if text.count('"') % 2:
        return nothing, "a quote that is not closed"
    fields = fields_of(text)
    if fields is None:
        return nothing, "quotes in a wrong place"
    if len(fields) != width:
        return nothing, f"{len(fields)} columns instead of {width}"
    return fields, ""


def style_of(beginning: bytes) -> str:
    """Return the quoting style of a table: the first one that reproduces its first lines."""
    lines = [line.decode("utf-8", "replace") for line in split_lines(beginning[: beginning.rfind(b"\n") + 1])]
    rows = [(line, fields) for line in lines[:_STYLE_LINES] if (fields := fields_of(line))]
    for style in STYLES:
        if all(quoted_line(fields, style) == line for line, fields in rows):
            return style
    return STYLES[0]


def harmless_texts(beginning: bytes, width: int) -> dict[int, tuple[str, ...]]:
    """Return long texts in a table's first lines that hold no credential, by column: most other lines repeat them."""
    lines = beginning[: beginning.rfind(b"\n") + 1].decode("utf-8", "replace").splitlines()[:_STYLE_LINES]
    try:
        rows = [fields for fields in csv.reader(lines) if len(fields) == width]
    except csv.Error:
        return {}
    found = {}
    for place, column in enumerate(zip(*rows, strict=True)):
        texts = [text for text in dict.fromkeys(column) if len(text) >= SHORTEST_MATCH and text.isprintable()]
        found[place] = tuple(text for text in texts[:_MOST_KNOWN] if not holds_any(text))
    return found


def starts_in_ns(beginning: bytes, columns: Columns) -> bool | None:
    """Return whether starts without a unit are in ns, not µs, by a table's first lines; None if these do not show it.

    CANN's exporter wrote ns: torch_npu's `OpSummaryBean` of 2023 divides by 1000, an older one copies the value. ns are
    whole. From one start to the next it takes about the row's duration and the next row's wait, whose unit is µs.
    """
    lines = beginning[: beginning.rfind(b"\n") + 1].decode("utf-8", "replace").splitlines()[1:_STYLE_LINES]
    places = [columns.position(key) for key in ("start", "dur", "wait")]
    try:
        rows = [[_number(row, place) for place in places] for row in csv.reader(lines)]
    except csv.Error:
        return None
    starts = [row[0] for row in rows if row[0] > 0] or [Decimal()]
    if statistics.median(start % 1 for start in starts) > 0:
        return False
    if statistics.median(starts) >= _LARGEST_US:
        return True
    ratios = [
        (later[0] - earlier[0]) / (earlier[1] + later[2])
        for earlier, later in itertools.pairwise(row for row in rows if row[0] > 0 and row[1] > 0)
        if later[0] > earlier[0]
    ]
    ratio = statistics.median(ratios) if ratios else _UNDECIDED[0]
    return None if _UNDECIDED[0] <= ratio <= _UNDECIDED[1] else ratio > _UNDECIDED[1]


def _number(fields: list[str], place: int | None) -> Decimal:
    """Return the number in a field, 0 if it is missing or not finite."""
    try:
        number = Decimal(fields[place]) if place is not None else Decimal()
    except (IndexError, InvalidOperation):
        return Decimal()
    return number if number.is_finite() else Decimal()


def names_credentials(header: Header) -> bool:
    """Return whether a column's name makes its values credentials: `password`, or `value` beside a column `name`."""
    keys = header.columns.keys
    values = json.dumps(dict.fromkeys(keys, "Basic 0123456789abcdef"), separators=(",", ":"))
    return holds_any(values) or any("value" in key.lower() for key in keys)


def quoted_line(fields: list[str], style: str) -> str:
    """Return fields as a line of a table, quoted in one of the `STYLES`."""

    def quoted(text: str) -> str:
        needed = style == "all" or any(mark in text for mark in ',"\r\n') or (style != "minimal" and "\t" in text)
        return '"' + text.replace('"', '""') + '"' if needed else text

    return ",".join(map(quoted, fields))
