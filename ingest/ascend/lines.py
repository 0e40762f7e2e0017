"""Lines of a table: its header, what makes a line a row, and how its writer quotes."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from dataclasses import dataclass

from ...engine import secrets
from .columns import Columns, columns_of

#: A line longer than this is damage: the longest real ones have a few thousand bytes.
LINE_LIMIT = 1 << 20
#: How writers quote a field: where a comma, a quote or an end of line is in it; around TABs as well; or always.
STYLES = ("minimal", "minimal and tabs", "all")
_BOM = b"\xef\xbb\xbf"
_STYLE_LINES = 200
#: Texts of a column that are known to hold no credential, at most.
_MOST_KNOWN = 32


@dataclass(frozen=True)
class Header:
    """The first line of a table.

    Attributes:
        columns: what it names.
        text: the line as it is, without its end.
        newline: how lines end.
        bom: the file begins with a byte order mark.
    """

    columns: Columns
    text: str
    newline: str
    bom: bool


def read_header(head: bytes) -> Header | None:
    """Return the header of a table whose beginning is given, None where that is no line of text."""
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
    """Yield the lines of a piece without their ends; what follows the last end counts when it is not empty."""
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
    """Return the fields of a line, None where its quotes are wrong."""
    try:
        return next(csv.reader([line], strict=True), None)
    except csv.Error:
        return None


def row_of(line: bytes, width: int) -> tuple[list[str], str]:
    """Return a line's fields and an empty reason; or empty fields and the reason why the line is no row."""
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
    """Return how a table's writer quotes: the first style that writes its first lines as they are."""
    lines = [line.decode("utf-8", "replace") for line in split_lines(beginning[: beginning.rfind(b"\n") + 1])]
    rows = [(line, fields) for line in lines[:_STYLE_LINES] if (fields := fields_of(line))]
    for style in STYLES:
        if all(quoted_line(fields, style) == line for line, fields in rows):
            return style
    return STYLES[0]


def harmless_texts(beginning: bytes, width: int) -> dict[int, tuple[str, ...]]:
    """Return long texts of a table's first lines that hold no credential, by column: most other lines repeat them."""
    lines = beginning[: beginning.rfind(b"\n") + 1].decode("utf-8", "replace").splitlines()[:_STYLE_LINES]
    try:
        rows = [fields for fields in csv.reader(lines) if len(fields) == width]
    except csv.Error:
        return {}
    found = {}
    for place, column in enumerate(zip(*rows, strict=True)):
        texts = [text for text in dict.fromkeys(column) if len(text) >= secrets.SHORTEST_MATCH and text.isprintable()]
        found[place] = tuple(text for text in texts[:_MOST_KNOWN] if not secrets.holds_any(text))
    return found


def names_credentials(header: Header) -> bool:
    """Return whether a column's name makes a credential of its values: `password`, or `value` with a name beside it."""
    keys = header.columns.keys
    values = json.dumps(dict.fromkeys(keys, "Basic 0123456789abcdef"), separators=(",", ":"))
    return secrets.holds_any(values) or any("value" in key.lower() for key in keys)


def quoted_line(fields: list[str], style: str) -> str:
    """Return fields as a line of a table, quoted in one of the `STYLES`."""

    def quoted(text: str) -> str:
        needed = style == "all" or any(mark in text for mark in ',"\r\n') or (style != "minimal" and "\t" in text)
        return '"' + text.replace('"', '""') + '"' if needed else text

    return ",".join(map(quoted, fields))
