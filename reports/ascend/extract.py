"""Extracts a forward pass from an Ascend table of kernels: its rows as in the file, and a description."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Any, SupportsIndex

from ...analysis.passes import as_number, chosen_pass
from ...analysis.traces import locate
from ...engine.errors import UsageError
from ...engine.store import Store
from ...engine.text import cell, json_text
from ...ingest.ascend.lines import quoted_line
from ...ingest.ascend.table import KERNELS
from ..output.files import write_text, writing

#: The windows that can be extracted: see the relation pass_windows.
WINDOWS = ("anchor", "extended", "monotonic", "whole")
#: Rows held in memory at once.
_ROWS_AT_ONCE = 20_000
_BOM = b"\xef\xbb\xbf"


def write_pass(
    store: Store,
    trace: str,
    path: Path,
    *,
    window: str,
    pass_id: SupportsIndex | None,
    device: int | None = None,
    duplicates: bool = True,
    spreadsheet: bool = True,
) -> dict[str, Any]:
    """Write the rows of a window of a pass as a table of kernels, with a description as JSON beside it.

    Args:
        store: the lake.
        trace: the trace.
        path: the table; the JSON file has the same name with the suffix .json.
        window: anchor, extended, monotonic, or whole for the whole table.
        pass_id: the pass, from 0; default: the chosen one. The window whole takes none.
        device: the device; default: the first that has the pass.
        duplicates: also write rows that do not count.
        spreadsheet: prevent text from running as a formula.

    Returns:
        The content of the JSON. Times in ns, and sums of durations in us.

    Raises:
        UsageError: the trace is not a table of kernels, or has no such pass, window or device.
        InputError: a file cannot be written.
    """
    if window not in WINDOWS:
        raise UsageError(f"window={window}: unknown. Known: {', '.join(WINDOWS)}.")
    trace_id = locate(store, trace)
    number = as_number(pass_id)
    if number is None and window != "whole":
        number = chosen_pass(store, trace_id)
    about, table = _table(store, trace_id)
    if path.suffix.lower() == ".json":
        raise UsageError(f"{path}: give a .csv file; its description is written next to it, as .json.")
    if window == "whole":
        found = {"pass_id": None, "device": device}
    else:
        found = _window(store, trace_id, window, number, device)
    about |= {"window": window, **found}
    chosen = _chosen(trace_id, table, about)
    about |= _counted(store, chosen)
    about["duplicates_left_out"] = not duplicates
    rows = _rows(
        store, trace_id, table, chosen, everything=window == "whole" and device is None, counted=not duplicates
    )
    with writing(path):
        about["rows_written"] = _write(path, table, rows, spreadsheet=spreadsheet)
    write_text(path.with_suffix(".json"), json_text(json.dumps(about, indent=2, ensure_ascii=False)) + "\n")
    return about


def _table(store: Store, trace_id: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return facts about the trace, and about its only table of kernels."""
    [(trace, rank, source, sha256, metadata)] = store.rows(
        "SELECT trace, rank, source_path, source_sha256, metadata FROM traces WHERE trace_id = $1", [trace_id]
    )
    files = json.loads(metadata or "{}").get("files") or []
    tables = [file for file in files if file.get("kind") == KERNELS]
    if not tables:
        raise UsageError(
            f"{trace}: has no table of kernels to cut rows from: only kernel_details.csv and op_summary_*.csv of "
            "Ascend's profilers are. `tracelake perfetto` cuts passes out of Chrome traces."
        )
    if len(tables) > 1:
        raise UsageError(
            f"{trace}: has {len(tables)} tables of kernels ({', '.join(str(file['name']) for file in tables)}): "
            "ingest the one to cut from by itself."
        )
    about = {
        "trace": trace,
        "trace_id": trace_id,
        "rank": rank,
        "source": {"path": source, "file": tables[0]["name"], "sha256": sha256},
    }
    return about, tables[0]


def _window(store: Store, trace_id: str, window: str, pass_id: int | None, device: int | None) -> dict[str, Any]:
    """Return the pass and its window."""
    numbers = [number for (number,) in store.rows(
        "SELECT DISTINCT pass_id FROM passes WHERE trace_id = $1 AND ($2 IS NULL OR device = $2) ORDER BY ALL",
        [trace_id, device],
    )]  # fmt: skip
    if pass_id not in numbers:
        known = f"it has {numbers[0]} to {numbers[-1]}" if numbers else "none was found; --window whole needs none"
        named = "no passes" if pass_id is None else f"pass {pass_id}: no such pass"
        raise UsageError(f"{named}; {known}.")
    columns = (
        "device", "stage", "tokens", "requests", "pass_source", "complete", "num_layers", "layer_count",
        "complete_ordinal", "start_ns", "end_ns", "gap_threshold_us",
    )  # fmt: skip
    rows = store.rows(
        f"""
        SELECT {", ".join(columns)}
        FROM _extract_windows
        WHERE trace_id = $1 AND pass_id = $2 AND window_kind = $3 AND ($4 IS NULL OR device = $4)
        ORDER BY device
        LIMIT 1
        """,
        [trace_id, pass_id, window, device],
    )
    if not rows:
        raise UsageError(
            f"pass {pass_id}: has no window {window}: no run of rows in the file's order holds its anchors alone."
        )
    assert pass_id is not None
    return {"pass_id": pass_id, "ordinal": pass_id + 1, **dict(zip(columns, map(_plain, rows[0]), strict=True))}


def _chosen(trace_id: str, table: dict[str, Any], about: dict[str, Any]) -> str:
    """Return the arguments of _extracted for the window's rows in the table, as SQL."""
    numbers = (about["pass_id"], about["device"], table["first_event"], table["lines"])
    listed = ", ".join("NULL" if number is None else str(int(number)) for number in numbers)
    return f"('{trace_id}', '{about['window']}', {listed})"


def _counted(store: Store, chosen: str) -> dict[str, Any]:
    """Return counts and sums of the rows."""
    [sums] = store.rows(
        f"""
        SELECT
            count(*), count(*) FILTER (counted), count(*) FILTER (ends_after),
            sum(end_ns - start_ns) FILTER (counted AND part = 'compute') / 1000,
            sum(end_ns - start_ns) FILTER (counted AND part = 'communication') / 1000,
            sum(end_ns - start_ns) FILTER (part = 'communication') / 1000,
            sum(end_ns - start_ns) FILTER (part = 'service') / 1000
        FROM _extracted{chosen}
        """
    )
    names = ("rows", "counted_rows", "rows_ending_after")
    times = ("compute_us", "communication_us", "raw_communication_us", "service_us")
    dropped = store.rows(f"SELECT rule, rows, sum_us, row_numbers FROM _extracted_duplicates{chosen} ORDER BY ALL")
    anchors = store.rows(f"SELECT type, anchors FROM _extracted_anchors{chosen} ORDER BY ALL")
    return {
        "anchors": [{"type": kind, "count": count} for kind, count in anchors],
        **dict(zip(names, sums[:3], strict=True)),
        **{name: _plain(value or 0) for name, value in zip(times, sums[3:], strict=True)},
        "duplicates": [
            {"rule": rule, "rows": count, "sum_us": _plain(total), "row_numbers": rows}
            for rule, count, total, rows in dropped
        ],
    }


def _rows(
    store: Store, trace_id: str, table: dict[str, Any], chosen: str, *, everything: bool, counted: bool
) -> Iterator[str]:
    """Yield the arguments of the rows, in file order."""
    first, end = int(table["first_event"]), int(table["first_event"]) + int(table["lines"])
    skipped: set[int] = set()
    if everything and counted:
        skipped = {row for (row,) in store.rows(f"SELECT kernel_id FROM _extracted{chosen} WHERE NOT counted")}
    wanted: set[int] | None = None
    if not everything:
        condition = "WHERE counted" if counted else ""
        wanted = {row for (row,) in store.rows(f"SELECT kernel_id FROM _extracted{chosen} {condition}")}
        first, end = min(wanted, default=end), max(wanted, default=first) + 1
    for start in range(first, end, _ROWS_AT_ONCE):
        rows = store.rows(
            "SELECT event_id, args FROM events WHERE trace_id = $1 AND lane = 'device' AND event_id >= $2 "
            "AND event_id < $3 ORDER BY event_id",
            [trace_id, start, min(start + _ROWS_AT_ONCE, end)],
        )
        for number, args in rows:
            if number not in skipped and (wanted is None or number in wanted):
                yield args


def _write(path: Path, table: dict[str, Any], rows: Iterator[str], *, spreadsheet: bool) -> int:
    """Write the header and the rows in the table's own style and return their number.

    They equal the file's, byte for byte, except for control characters and text that a spreadsheet would run.
    """
    newline, keys = str(table["newline"]), [str(key) for key in table["keys"]]
    counters = [str(key) for key in table.get("counters", ())]
    count = 0
    with path.open("wb") as file:
        header = str(table["header"])
        fields = next(csv.reader([header], strict=False), [])
        safe = [cell(field, spreadsheet=spreadsheet) for field in fields]
        header = header if safe == fields else quoted_line(safe, str(table["quoting"]))
        file.write((_BOM if table["bom"] else b"") + header.encode())
        for args in rows:
            values = json.loads(args)
            # The counters of the chip, which are most columns, are stored in one text.
            values.update(zip(counters, str(values.get("counters", "")).split("\t"), strict=False))
            fields = [cell(str(values.get(key, "")), spreadsheet=spreadsheet) for key in keys]
            line = quoted_line(fields, str(table["quoting"]))
            file.write((newline + line).encode())
            count += 1
        if table["end_newline"]:
            file.write(newline.encode())
    return count


def _plain(value: Any) -> Any:
    """Return a number that JSON can represent."""
    if isinstance(value, Decimal):
        value = float(value)
    with suppress(AttributeError):
        return int(value) if isinstance(value, float) and value.is_integer() else value
    return value
