"""Counters of the chip in msprof's databases: TASK_PMU_INFO has a row for each task and counter.

A task's counters become one text, cells separated by tabs, with the heads that the table of kernels
(kernel_details.csv) gives them, so that queries about those work.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .sqlite import SqliteTables

TABLE = "TASK_PMU_INFO"
#: Tasks whose core times tell the unit.
_SAMPLE = 1000
#: The total time of a kind of core in the database -> its head in the table of kernels, without the unit.
_CORE_TIMES = {"total_time": "aicore_time", "aic_total_time": "aicore_time", "aiv_total_time": "aiv_time"}


def counters_of(tables: SqliteTables) -> tuple[list[str], str]:
    """Return the heads of the counters, and the SQL of their cells by task: `SELECT globalTaskId, nth, counters`.

    Several runs of a task may share its id: nth is the run, from 1. Newer writers say when counters were read, which
    gives the run. Otherwise counters that were read more than once for an id belong to an unknown run, and are left
    out. Without counters, there is no SQL.
    """
    if not {"globalTaskId", "name", "value"} <= set(tables.columns.get(TABLE, ())):
        return [], ""
    found = tables.answers(f"SELECT name FROM {TABLE} GROUP BY name ORDER BY min(rowid)")
    ids = [number for (number,) in found if isinstance(number, int)]
    texts = tables.texts("STRING_IDS", ids)
    names = {number: texts[number].removesuffix("_extra") for number in ids if number in texts}
    if not names:
        return [], ""
    unit = 1000.0 if _in_nanoseconds(tables, [number for number, name in names.items() if _is_core_time(name)]) else 1.0
    columns = {name: f"c{number}" for number, name in names.items()}
    cells = " || char(9) || ".join(f"coalesce({_cell(name, columns, unit)}, '')" for name in columns)
    pivoted = ", ".join(f"max(CASE WHEN name = {number} THEN value END) AS c{number}" for number in names)
    if "timestampNs" in tables.columns[TABLE]:
        read = f"""
            SELECT globalTaskId, nth, {pivoted} FROM (
                SELECT globalTaskId, name, value, sum(begins) OVER (
                    PARTITION BY globalTaskId ORDER BY ns, begins DESC ROWS UNBOUNDED PRECEDING
                ) AS nth
                FROM (
                    SELECT globalTaskId, startNs AS ns, NULL AS name, NULL AS value, 1 AS begins FROM TASK
                    UNION ALL SELECT globalTaskId, timestampNs, name, value, 0 FROM {TABLE}
                )
            ) WHERE name IS NOT NULL GROUP BY globalTaskId, nth"""
    else:
        read = f"""
            SELECT globalTaskId, 1 AS nth, {pivoted} FROM {TABLE}
            GROUP BY globalTaskId HAVING count(*) = count(DISTINCT name)"""
    return [_head(name) for name in columns], f"SELECT globalTaskId, nth, {cells} AS counters FROM ({read})"


def _is_core_time(name: str) -> bool:
    return name in _CORE_TIMES or name in _CORE_TIMES.values()


def _head(name: str) -> str:
    """Return a counter's head as the table of kernels has it."""
    name = _CORE_TIMES.get(name, name)
    for word, unit in (("time", "(us)"), ("bw", "(GB/s)"), ("datas", "(KB)")):
        if word in name and not name.endswith(")"):
            return name + unit
    return name


def _cell(name: str, columns: dict[str, str], unit: float) -> str:
    """Return the SQL of a counter's value in the unit of its head."""
    value = columns[name]
    if "time" in name:
        return f"{value} / {unit}"
    time = columns.get(name.removesuffix("_ratio") + "_time")
    side = name[:4] if name.startswith(("aic_", "aiv_")) else ""
    written = f"{side}total_time"
    total = columns.get(written) or columns.get(_CORE_TIMES[written])
    if name.endswith("_ratio") and time and total:
        # Some writers cut shares off to whole numbers; a share is its time over the core's.
        return f"CASE WHEN {value} IN (0, 1) THEN coalesce(1.0 * {time} / nullif({total}, 0), {value}) ELSE {value} END"
    return value


def _in_nanoseconds(tables: SqliteTables, core_times: list[int]) -> bool:
    """Whether times of cores are in ns, as of newer writers, not in µs: a core works for most of its task."""
    listed = ", ".join(map(str, core_times)) or "NULL"
    [(core, task)] = tables.answers(f"""
        SELECT sum(c.value), sum(t.endNs - t.startNs)
        FROM (SELECT globalTaskId, value FROM {TABLE} WHERE name IN ({listed}) AND value > 0 LIMIT {_SAMPLE}) AS c
        JOIN TASK AS t ON t.globalTaskId = c.globalTaskId""") or [(None, None)]
    return core is None or task is None or core * 100 > task
