"""SQL that turns a piece of a table of kernels into rows of events.

Every column is read as text, since the profilers write `N/A` anywhere, a TAB after times, and other types from version
to version. Times of digits with three decimals lose their point and become whole nanoseconds; all others are converted
as decimals with 18 places, as in Chrome traces.

The arguments are a JSON object with the text of every column with a canonical name. The others, the counters of the
chip, are most of a row; they are joined into one text, separated by TABs, in the table's order. Their names
are in the catalog, once.
"""

from __future__ import annotations

import json

from ...engine.schema import EVENT_COLUMNS
from ...engine.sql.modules import quoted
from ..credentials import SHORTEST_MATCH, suspected
from .columns import Columns

#: A table of mean durations per shape: a profiling database has one file for each type of kernel.
PROFILED_SHAPES = "profiled_shape"

#: Characters that writers add around a value.
_AROUND = "' ' || chr(9) || chr(13) || chr(10) || '\"'"


def kernel_query(
    path: str,
    columns: Columns,
    device: int,
    *,
    in_ns: bool = False,
    careful: bool = False,
    harmless: dict[int, tuple[str, ...]] | None = None,
) -> str:
    """Return the SELECT that reads a piece of a table of kernels.

    Its columns: nth, suspect, lane, and the event columns except the id.

    Args:
        path: the piece: lines without a header.
        columns: of the table.
        device: the device of rows that do not name it.
        in_ns: starts are in nanoseconds, not microseconds.
        careful: build the arguments as JSON in a slower way that is right for any text; the fast way marks rows
            suspect if a text has an unexpected quote or control character.
        harmless: by column, texts that hold no credential. If given, rows whose cells may hold one are suspect: only
            long cells with other texts are searched, or all text if `harmless` is empty.
    """
    args = _careful_args(columns) if careful else _fast_args(columns)
    start = _value(columns, "start")
    if in_ns:
        start = f"coalesce(CAST(TRY_CAST({start} AS DECIMAL(30, 6)) * 0.001 AS VARCHAR), {start})"
    held = "false" if harmless is None else _held(columns, harmless)
    return f"""
SELECT
    row_number() OVER () - 1 AS nth,
    NOT json_valid(args) OR {held} AS suspect,
    CASE
        WHEN start_text IS NOT NULL AND start_ns IS NULL THEN 'rejected'
        WHEN dur_text IS NOT NULL AND end_ns IS NULL AND start_ns IS NOT NULL THEN 'rejected'
        WHEN start_text IS NULL AND name IS NULL THEN 'rejected'
        ELSE 'device'
    END AS lane,
    'X' AS ph,
    'kernel' AS category,
    name,
    CAST(device AS VARCHAR) AS pid,
    CAST(stream AS VARCHAR) AS tid,
    start_ns,
    TRY(end_ns - start_ns) AS dur_ns,
    end_ns,
    CAST(NULL AS BIGINT) AS correlation,
    CAST(NULL AS BIGINT) AS external_id,
    device,
    stream,
    if(json_valid(input_dims), input_dims, NULL) AS input_dims,
    if(json_valid(input_types), input_types, NULL) AS input_types,
    CAST(NULL AS VARCHAR) AS id,
    args,
    CAST(NULL AS VARCHAR) AS extra
FROM (
    SELECT
        *,
        CASE
            WHEN is_plain THEN TRY_CAST(replace(start_text, '.', '') AS BIGINT)
            ELSE {_nanoseconds("start_text")}
        END AS start_ns,
        CASE
            WHEN is_plain
                THEN TRY_CAST(replace(start_text, '.', '') AS BIGINT) + TRY_CAST(replace(dur_text, '.', '') AS BIGINT)
            ELSE {_nanoseconds("start_text", "dur_text")}
        END AS end_ns,
        {dims("shapes", "types")} AS input_dims,
        '["' || replace(nullif(nullif(types, 'N/A'), ''), ';', '","') || '"]' AS input_types
    FROM (
        SELECT
            *, start_text[-4] = '.' AND dur_text[-4] = '.' AND length(start_text) < 20 AND length(dur_text) < 18
                AND translate(start_text || dur_text, '0123456789', '') = '..' AS is_plain
        FROM (SELECT
            coalesce({_value(columns, "name")}, {_value(columns, "op_type")}) AS name,
            {start} AS start_text,
            {_value(columns, "dur")} AS dur_text,
            coalesce(TRY_CAST({_value(columns, "device_id")} AS INTEGER), {device}) AS device,
            TRY_CAST({_value(columns, "stream_id")} AS BIGINT) AS stream,
            {without_brackets(_text(columns, "input_shapes"))} AS shapes,
            {_text(columns, "input_dtypes")} AS types,
            {args} AS args,
            *
        FROM {_lines(path, columns)})
    )
)"""


def companion_query(path: str, columns: Columns, kind: str, stem: str) -> str:
    """Return the SELECT that reads a piece of another table: each row is a metadata event named `kind`.

    Args:
        path: the piece: lines without a header.
        columns: of the table.
        kind: the table's kind.
        stem: the file's name without suffixes, which names the kernels of a table of shapes.
    """
    members = ", ".join(f"{quoted(name)}: c{nth}" for nth, name in enumerate(_unique(columns.header)))
    named = f", 'Kernel Type': {quoted(stem)}" if kind == PROFILED_SHAPES else ""
    cells = ", ".join(f"c{nth}" for nth in range(len(columns.header)))
    args, lane = f"to_json({{{members}{named}}})", f"if(coalesce({cells}) IS NULL, 'rejected', 'meta')"
    return metadata_query(kind, args, _lines(path, columns), lane)


def metadata_query(kind: str, args: str, source: str, lane: str = "'meta'") -> str:
    """Return the SELECT that makes a metadata event named `kind` of each row of a source.

    Args:
        kind: name of the events.
        args: expression of their arguments, JSON.
        source: where the rows come from.
        lane: expression of the lane, `rejected` for what is not a row.
    """
    nulls = ", ".join(
        f"CAST(NULL AS {EVENT_COLUMNS[name]}) AS {name}"
        for name in EVENT_COLUMNS
        if name not in ("event_id", "ph", "name", "args")
    )
    return f"""
SELECT
    row_number() OVER () - 1 AS nth, false AS suspect, {lane} AS lane, 'M' AS ph, {quoted(kind)} AS name,
    CAST({args} AS VARCHAR) AS args, {nulls}
FROM {source}"""


def _lines(path: str, columns: Columns) -> str:
    """Return the source of a piece's lines, every column as text, named by its position."""
    listed = ", ".join(f"'c{nth}': 'VARCHAR'" for nth in range(len(columns.header)))
    return (
        f"read_csv({quoted(path)}, columns = {{{listed}}}, header = false, auto_detect = false, delim = ',', "
        "quote = '\"', escape = '\"', parallel = false, nullstr = '')"
    )


def _unique(header: tuple[str, ...]) -> list[str]:
    """Return names of columns; repeated ones get a number."""
    names: list[str] = []
    for text in header:
        names.append(text if text not in names else f"{text} {len(names)}")
    return names


def _text(columns: Columns, key: str) -> str:
    """Return the expression of a column's text without the characters writers add, NULL if it is empty."""
    place = columns.position(key)
    return "CAST(NULL AS VARCHAR)" if place is None else f"trim(c{place}, {_AROUND})"


def _value(columns: Columns, key: str) -> str:
    """Return the expression of a column's value, NULL if it is N/A or empty, or the table lacks it."""
    return f"nullif(nullif({_text(columns, key)}, ''), 'N/A')"


def _nanoseconds(*texts: str) -> str:
    """Return the expression of the sum of microseconds in nanoseconds, rounded to the nearest."""
    # DuckDB reads 1_0 as 10.
    total = " + ".join(f"TRY_CAST(replace({text}, '_', '?') AS DECIMAL(38, 18))" for text in texts)
    return f"TRY(CAST(({total}) * 1000 AS BIGINT))"


def _held(columns: Columns, harmless: dict[int, tuple[str, ...]]) -> str:
    """Return the condition that a cell holds, or may hold, a credential's literal; short cells are not searched.

    Names, which are often unique, are searched separately; if another cell is long and not known as harmless, the whole
    row is searched. A start that is not a time rejects its row.
    """
    name = columns.position("name")
    if name is None or not harmless:
        return suspected("args")
    unknown = []
    own = "false"
    for place, key in enumerate(columns.keys):
        known = ", ".join(map(quoted, harmless.get(place, ())))
        long = f"strlen(c{place}) >= {SHORTEST_MATCH}"
        condition = f"({long} AND c{place} NOT IN ({known}))" if known else long
        if place == name:
            own = condition
        elif key != "start":
            unknown.append(condition)
    return f"""(
        CASE WHEN {own} THEN {suspected(f"c{name}")} ELSE false END
        OR CASE WHEN {" OR ".join(unknown)} THEN {suspected("args")} ELSE false END
    )"""


def _careful_args(columns: Columns) -> str:
    members = [
        f"{quoted(key)}: coalesce(c{nth}, '')" for nth, key in enumerate(columns.keys) if nth not in columns.counters
    ]
    if columns.counters:
        cells = ", ".join(f"replace(coalesce(c{nth}, ''), chr(9), ' ')" for nth in columns.counters)
        members.append(f"'counters': concat_ws(chr(9), {cells})")
    return f"CAST(to_json({{{', '.join(members)}}}) AS VARCHAR)"


def _fast_args(columns: Columns) -> str:
    """Return the arguments as JSON text, concatenated: only shapes have quotes, only times a TAB."""
    parts: list[str] = []
    for nth, key in enumerate(columns.keys):
        if nth in columns.counters:
            continue
        value = f"c{nth}"
        if key.endswith("_shapes"):
            value = f"replace({value}, '\"', '\\\"')"
        elif key in ("start", "dur", "wait"):
            value = f"replace({value}, chr(9), '\\t')"
        parts += [quoted(('",' if parts else "{") + json.dumps(key) + ':"'), value]
    for nth in columns.counters:
        parts += [quoted("\\t" if nth != columns.counters[0] else '","counters":"'), f"c{nth}"]
    return f"concat({', '.join(parts)}, '\"}}')"


def without_brackets(shapes: str) -> str:
    """Return the expression of the text of shapes without the brackets that some writers put around slots and lists."""
    return f"translate(replace(replace({shapes}, ' ', ''), '],[', ';'), '[]', '')"


def dims(shapes: str, types: str) -> str:
    """Return the expression of shapes as JSON: a list for each slot, [] for a scalar, null for no tensor.

    An empty slot is a scalar if it has a type, and no tensor if the type is undefined. Some writers add a trailing
    separator to the shapes.

    Args:
        shapes: expression of the text of the shapes, `8,25;25;;`.
        types: expression of the text of the types, `INT8;;`.
    """
    slot = """
        CASE
            WHEN coalesce(slot[1], '') NOT IN ('', '()') THEN '[' || slot[1] || ']'
            WHEN slot[1] = '()' OR slot[2] NOT IN ('UNDEFINED', 'DT_UNDEFINED', 'N/A', '') THEN '[]'
            ELSE 'null'
        END"""
    return f"""
        CASE
            WHEN {shapes} IS NULL OR {shapes} = 'N/A' THEN NULL
            WHEN
                {shapes} = '' OR contains({shapes}, ';;') OR {shapes}[1] = ';' OR {shapes}[-1] = ';'
                OR contains({shapes}, '(')
                OR length({shapes}) - length(replace({shapes}, ';', ''))
                < length({types}) - length(replace({types}, ';', ''))
                THEN '[' || array_to_string(list_transform(
                    list_zip(
                        CASE
                            WHEN
                                {shapes}[-1] = ';'
                                AND len(string_split({types}, ';')) = len(string_split({shapes}, ';')) - 1
                                THEN string_split({shapes}[:-2], ';')
                            ELSE string_split({shapes}, ';')
                        END,
                        string_split({types}, ';')
                    ),
                    lambda slot: {slot}
                ), ',') || ']'
            ELSE '[[' || replace({shapes}, ';', '],[') || ']]'
        END"""
