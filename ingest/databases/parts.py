"""What of an export becomes events: a table, its columns, and the SELECT that makes events of a batch of its rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ...engine.schema import EVENT_COLUMNS

#: The relation that a part's SELECT reads: the columns of the part, those added to them, and nth, from 0 in a batch.
ROWS = "rows_of_export"
#: The relation that a part asks about its texts: `text`, and nth, from 0; each text is there once.
TEXTS = "texts_of_export"


@dataclass(frozen=True)
class Part:
    """A table of events.

    Attributes:
        table: its name.
        columns: those that are read: name -> `int`, `real`, `text` or `bytes`.
        events: the SELECT that makes an event of each row of `ROWS`, see `events`.
        names: columns that hold ids of texts; each becomes its text.
        said: columns of texts that repeat -> the SELECT from `TEXTS` of what each text says: nth, and columns of text
            that are added to the rows.
        digits: columns of texts without letters; none holds a credential.
        lane: the lane that all events of a batch are likely of, if of one.
    """

    table: str
    columns: Mapping[str, str]
    events: str
    names: Iterable[str] = ()
    said: Mapping[str, str] = field(default_factory=dict)
    digits: Iterable[str] = ()
    lane: str = "host"


def events(rows: str = ROWS, /, **columns: str) -> str:
    """Return the SELECT that makes an event of each row: `lane` and event columns as SQL; those not given are NULL.

    Of a part that has times, rows without a start are rejected.

    Args:
        rows: the relation of rows, if it is another one than `ROWS`.
        columns: the SQL of each column; `lane` and `ph` see the columns of the event, the others those of the rows.
    """
    lane = columns.pop("lane")
    times = {"end_ns": "NULL", **columns}
    given = {
        **columns,
        "ph": columns.get("ph", "CASE WHEN end_ns IS NULL THEN 'B' ELSE 'X' END"),
        "dur_ns": "end_ns - start_ns",
    }
    if "start_ns" in columns:
        # A beginning without its end waits with those of other formats, and is counted.
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
    """Return the SQL of a JSON object: member -> the SQL of its JSON text; NULL members are left out, or all of it.

    An underscore in a member's name stands for a space, two for one of them. `members` is the SQL of several members.
    """
    given = {name.replace("__", "\0").replace("_", " ").replace("\0", "_"): text for name, text in members.items()}
    written = ", ".join(text if name == "members" else f"'\"{name}\": ' || ({text})" for name, text in given.items())
    return f"nullif('{{' || concat_ws(', ', {written}) || '}}', '{{}}')"


def process(column: str) -> str:
    """Return the SQL of the process of one of Nsight Systems' serialized ids."""
    return f"({column} >> 24) & 16777215"


def thread(column: str) -> dict[str, str]:
    """Return the SQL of the event columns that a serialized thread has."""
    return {"pid": process(column), "tid": f"{column} & 16777215"}


def json_text(column: str) -> str:
    """Return the SQL of a text as JSON."""
    return f"CAST(to_json({column}) AS VARCHAR)"
