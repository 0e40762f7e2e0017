"""Maps an export's tables to events: a table, its columns, and the SELECT that turns a batch of rows into events."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ...engine.schema import EVENT_COLUMNS

#: The relation that a part's SELECT reads: the part's columns, the additional ones, and nth, from 0 in a batch.
ROWS = "rows_of_export"
#: The relation of a part's distinct texts: `text`, and nth, from 0.
TEXTS = "texts_of_export"


@dataclass(frozen=True)
class Part:
    """A table of events.

    Attributes:
        table: its name.
        columns: those that are read: name -> `int`, `real`, `text` or `bytes`.
        events: the SELECT that turns each row of `ROWS` into an event, see `events`.
        names: columns with ids of texts, which are replaced by the texts.
        said: columns of repeating texts -> the SELECT from `TEXTS` that interprets each text: nth, and text columns
            that are added to the rows.
        digits: text columns without letters, which cannot hold credentials.
        lane: the likely lane of all events of a batch, if it is a single one.
    """

    table: str
    columns: Mapping[str, str]
    events: str
    names: Iterable[str] = ()
    said: Mapping[str, str] = field(default_factory=dict)
    digits: Iterable[str] = ()
    lane: str = "host"


def events(rows: str = ROWS, /, **columns: str) -> str:
    """Return the SELECT that turns each row into an event: `lane` and event columns as SQL; missing ones are NULL.

    If the part has times, rows without a start are rejected.

    Args:
        rows: the relation of rows, if not `ROWS`.
        columns: the SQL of each column; `lane` and `ph` see the columns of the event, the others those of the rows.
    """
    lane = columns.pop("lane")
    times = {"end_ns": "NULL", **columns}
    given = {
        **columns,
        "ph": columns.get("ph", "CASE WHEN end_ns IS NULL THEN 'B' ELSE 'X' END"),
        "dur_ns": "TRY(end_ns - start_ns)",
    }
    if "start_ns" in columns:
        # A begin without an end waits with those of other formats, and is counted.
        lane = f"CASE WHEN start_ns IS NULL THEN 'rejected' WHEN ph = 'B' THEN 'pair' ELSE {lane} END"
    listed = ", ".join(
        f"CAST({given.get(name, 'NULL')} AS {kind}) AS {name}"
        for name, kind in EVENT_COLUMNS.items()
        if name not in ("event_id", "start_ns", "end_ns")
    )
    start, end = times.get("start_ns", "NULL"), times["end_ns"]
    # The outer SELECT sees the event columns, the inner ones the rows.
    return (
        f"SELECT *, {lane} AS lane FROM (SELECT nth, false AS suspect, start_ns, end_ns, {listed} FROM ("
        f"SELECT *, CAST({start} AS BIGINT) AS start_ns, CAST({end} AS BIGINT) AS end_ns FROM {rows}))"
    )


def arguments(**members: str) -> str:
    """Return the SQL of a JSON object, NULL if it is empty: member -> the SQL of its JSON text; NULL ones are left out.

    An underscore in a member's name means a space, two an underscore. `members` is the SQL of several members.
    """
    given = {name.replace("__", "\0").replace("_", " ").replace("\0", "_"): text for name, text in members.items()}
    written = ", ".join(text if name == "members" else f"'\"{name}\": ' || ({text})" for name, text in given.items())
    return f"nullif('{{' || concat_ws(', ', {written}) || '}}', '{{}}')"


def process(column: str) -> str:
    """Return the SQL of the process in one of Nsight Systems' serialized ids."""
    return f"({column} >> 24) & 16777215"


def thread(column: str) -> dict[str, str]:
    """Return the SQL of the event columns for a serialized thread."""
    return {"pid": process(column), "tid": f"{column} & 16777215"}


def json_text(column: str) -> str:
    """Return the SQL of a text as JSON."""
    return f"CAST(to_json({column}) AS VARCHAR)"
