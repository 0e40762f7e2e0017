"""A trace's kernels as a profiling database: a table of mean durations per shape for each operation type.

Simulators look up the time of an operator in such tables. Each is named after its type; the columns are those of the
tables of kernels, then the durations over the trace, then the mean of each counter.
"""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...engine.sql.modules import quoted
from ...engine.text import cell
from ..output.files import writing

if TYPE_CHECKING:
    from ...engine.store import Store

_QUERY = """
    SELECT
        op_type, op_state, core, input_dims, input_types, input_formats, output_dims, output_types, output_formats,
        mean_us, median_us, std_us, count, block_num, pmu_avg
    FROM shape_stats({trace})
    WHERE input_dims IS NOT NULL AND output_dims IS NOT NULL
    ORDER BY op_type, input_dims, output_dims, count DESC, block_num, input_types, input_formats
"""
_HEADER = (
    "OP State", "Accelerator Core", "Input Shapes", "Input Data Types", "Input Formats", "Output Shapes",
    "Output Data Types", "Output Formats", "Profiling Average Duration(us)", "Profiling Median Duration(us)",
    "Profiling Std Duration(us)", "Count", "Block Num",
)  # fmt: skip
#: Characters not allowed in the file name.
_UNSAFE = re.compile(r"[^\w.+-]")


def write_database(store: Store, trace_id: str, folder: Path, *, spreadsheet: bool = True) -> list[tuple[Path, int]]:
    """Write a table per type of operation into a folder and return each file with its number of rows.

    Kernels with unknown shapes are left out. If one shape ran with several block counts, the most
    frequent comes first.

    Args:
        store: the lake.
        trace_id: the trace.
        folder: the folder to write to.
        spreadsheet: prevent text from running as a formula.

    Raises:
        InputError: a file cannot be written.
    """
    tables: dict[str, list[tuple[Any, ...]]] = {}
    for op_type, *row in store.rows(_QUERY.format(trace=quoted(trace_id))):
        tables.setdefault(op_type, []).append(tuple(row))
    written = []
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        for op_type, rows in tables.items():
            path = folder / f"{_UNSAFE.sub('_', op_type)}.csv"
            _write(path, rows, spreadsheet=spreadsheet)
            written.append((path, len(rows)))
    return written


def _write(path: Path, rows: list[tuple[Any, ...]], *, spreadsheet: bool) -> None:
    def text(value: Any) -> Any:
        return cell(value, spreadsheet=spreadsheet) if isinstance(value, str) else value

    means = [json.loads(row[-1]) if row[-1] else {} for row in rows]
    counters = list(dict.fromkeys(name for found in means for name in found))
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*_HEADER, *(text(f"Profiling Average {name}") for name in counters)])
        for row, found in zip(rows, means, strict=True):
            state, core, dims, types, formats, out_dims, out_types, out_formats, *numbers = row[:-1]
            writer.writerow(map(text, [
                _cell(state), _cell(core), _shapes(dims), _tokens(types), _tokens(formats), _shapes(out_dims),
                _tokens(out_types), _tokens(out_formats), *map(_cell, numbers),
                *(_cell(found.get(name)) for name in counters),
            ]))  # fmt: skip


def _cell(value: Any) -> Any:
    return "N/A" if value is None else value


def _shapes(dims: str) -> str:
    """Return shapes as the profiler writes them: quoted dimensions; empty for scalars."""
    return '"' + ";".join(",".join(map(str, slot or ())) for slot in json.loads(dims)) + '"'


def _tokens(listed: str | None) -> str:
    """Return types or formats separated by semicolons."""
    if listed is None:
        return "N/A"
    return ";".join(json.loads(listed)) if listed.startswith("[") else listed
