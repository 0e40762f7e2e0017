"""Answers: one JSON object of bounded size, in which text from traces is kept apart and escaped.

A name in a trace may be a megabyte long, hold escape sequences, or read like an instruction. So text from traces is
only below `data`, as JSON strings on one line, with control characters escaped and long texts cut in the middle.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..engine.errors import UsageError
from ..engine.text import printable
from ..reports.output.render import plain
from .catalogue import Tool, notice, units

if TYPE_CHECKING:
    import duckdb

#: Maximum bytes of an answer: some four thousand tokens.
LARGEST = 16_000
#: Maximum characters of a text, and of one in an answer that would otherwise be too large.
LONGEST, SHORT = 200, 40
#: Maximum columns of an answer.
MOST_COLUMNS = 120
#: Maximum rows that are counted; a longer answer reports this number and `more than`.
COUNTED = 10_000
#: Maximum sentences of one kind.
_MOST_SENTENCES = 8
#: Rows fetched from the database at once.
_AT_ONCE = 100


@dataclass
class Answer:
    """The result of a tool.

    Attributes:
        columns: names of the columns.
        rows: the requested rows.
        total: the total number of rows; None if more than are counted.
        about: sentences and single values that are the answer, or introduce it.
        trust: what it covers, and reasons to doubt it.
        facts: our own ids, numbers and words that fill in the proposed next questions.
        order: the sort order of the rows.
        longest: maximum characters of a text in the rows.
    """

    columns: Sequence[str] = ()
    rows: Sequence[Sequence[Any]] = ()
    total: int | None = 0
    about: Mapping[str, Any] = field(default_factory=dict)
    trust: Sequence[str] = ()
    facts: dict[str, Any] = field(default_factory=dict)
    order: str = ""
    longest: int = LONGEST


def fetched(
    relation: duckdb.DuckDBPyRelation, arguments: Mapping[str, Any], *, longest: int = LONGEST, **more: Any
) -> Answer:
    """Return the requested rows, and the total number of rows."""
    first, last = arguments["offset"], arguments["offset"] + arguments["limit"]
    if len(relation.columns) > MOST_COLUMNS:
        raise UsageError(f"{len(relation.columns)} columns, at most {MOST_COLUMNS}: name those that you need.")
    rows: list[list[Any]] = []
    total = 0
    # One execution gives the rows and their number: rows not shown are counted and dropped, since a row may be large.
    with contextlib.closing(relation.limit(max(COUNTED, last) + 1).to_arrow_reader(_AT_ONCE)) as reader:
        for batch in reader:
            begin, end = (min(max(place - total, 0), batch.num_rows) for place in (first, last))
            wanted = batch.slice(begin, end - begin)
            found = zip(*(column.to_pylist() for column in wanted.columns), strict=True)
            rows += [[_inert(value, longest) for value in row] for row in found]
            total += batch.num_rows
    whole = total <= max(COUNTED, last)
    return Answer(relation.columns, rows, total if whole else None, longest=longest, **more)


def listed(columns: Sequence[str], rows: Sequence[Sequence[Any]], arguments: Mapping[str, Any], **more: Any) -> Answer:
    """Return rows in memory as an answer."""
    first, last = arguments["offset"], arguments["offset"] + arguments["limit"]
    return Answer(columns, rows[first:last], len(rows), **more)


def text_of(tool: Tool, arguments: Mapping[str, Any], answer: Answer) -> str:
    """Return an answer as text.

    Raises:
        UsageError: not even one of its rows fits.
    """
    for longest in (answer.longest, SHORT):
        rows = [[_inert(value, longest) for value in row] for row in answer.rows]
        while True:
            text = _text(tool, arguments, answer, rows, longest)
            if len(text.encode()) <= LARGEST:
                return text
            if len(rows) <= 1:
                break
            rows = rows[: len(rows) * 3 // 4]
    raise UsageError("a single row is too large for an answer: name the columns that you need.")


def error_text(message: str) -> str:
    """Return an error as a line, in which text from traces is escaped."""
    return _json({"notice": notice(), "data": {"error": _inert(message, 3 * LONGEST)}})


def _text(tool: Tool, arguments: Mapping[str, Any], answer: Answer, rows: list[list[Any]], longest: int) -> str:
    columns = [_inert(column, LONGEST) for column in answer.columns]
    data: dict[str, Any] = _inert_all(answer.about, 3 * longest)
    if answer.trust:
        data["trust"] = _sentences(answer.trust, 3 * longest)
    if columns:
        data |= {"columns": columns, "rows": rows}
    found: dict[str, Any] = {"notice": notice()}
    if columns:
        found["shown"] = _shown(arguments, answer, len(rows))
    if known := units([str(column) for column in columns]):
        found["units"] = known
    if questions := list(tool.questions(answer.facts)):
        found["next"] = questions
    return _json(found | {"data": data})


def _shown(arguments: Mapping[str, Any], answer: Answer, count: int) -> str:
    """Report how many of the rows are shown, and how to get the others."""
    of = f"more than {COUNTED}" if answer.total is None else str(answer.total)
    offset = arguments.get("offset", 0)
    order = f", {answer.order}" if answer.order else ""
    if answer.total is not None and offset + count >= answer.total:
        if offset:
            return f"the last {count} of {of} rows{order}"
        return "the only row" if answer.total == 1 else f"all {of} rows{order}"
    return f"{count} of {of} rows{order}; ask for more with offset={offset + count}"


def _inert(value: Any, longest: int) -> Any:
    """Return a value of a trace as a number, a Boolean, or escaped text."""
    found = plain(value)
    if isinstance(found, float):
        return (round(found, 3) if abs(found) >= 1 else float(f"{found:.6g}")) + 0.0  # no -0.0
    if found is None or isinstance(found, int):
        return found
    text = found if isinstance(found, str) else json.dumps(found, ensure_ascii=False)
    if len(text) > 2 * longest:
        # Only characters that can be shown are escaped.
        text = text[:longest] + text[-longest:]
    return _cut(printable(text.replace("\n", " ").replace("\t", " ")), longest)


def _cut(text: str, longest: int) -> str:
    """Cut a text that is too long in the middle, with an ellipsis; a kernel's purpose is at its beginning."""
    tail = longest * 2 // 5
    return text if len(text) <= longest else f"{text[: longest - tail - 1]}…{text[-tail:]}"


def _inert_all(values: Mapping[str, Any], longest: int) -> dict[str, Any]:
    return {
        key: _inert_all(value, longest)
        if isinstance(value, Mapping)
        else _sentences(value, longest)
        if isinstance(value, list | tuple)
        else _inert(value, longest)
        for key, value in values.items()
    }


def _sentences(found: Sequence[str], longest: int) -> list[Any]:
    more = len(found) - _MOST_SENTENCES
    shown = [_inert(one, longest) for one in found[:_MOST_SENTENCES]]
    return [*shown, f"and {more} more"] if more > 0 else shown


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
