"""A small Chrome trace of one pass: its kernels, and above them tracks that say which pass and layer they are of.

Times are those of the original trace, to the nanosecond, so that both can be open side by side.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .output import writing

if TYPE_CHECKING:
    from ..engine.store import Store

#: Process number of the tracks of passes and layers; the kernels' is their device.
_TRACKS = 1_000_000


def write_chrome(store: Store, trace_id: str, path: Path, pass_id: int, layers: Sequence[int] = ()) -> int:
    """Write one pass, or some of its layers, as a Chrome trace and return the number of its events.

    Args:
        store: the lake.
        trace_id: the trace.
        path: the file; gzipped when its name ends in .gz.
        pass_id: the pass.
        layers: the layers; the whole pass with what surrounds its layers, when none is named.

    Raises:
        InputError: the file cannot be written.
    """
    ranges = _ranges(store, trace_id, pass_id, layers)
    windows = [row for row in ranges if (row["range"] == "layer" if layers else row["range"] != "gap")]
    devices = sorted({row["device"] for row in ranges})
    events = [*_names(devices), *_tracks(ranges), *_kernels(store, trace_id, windows)]
    [(trace, metadata)] = store.rows("SELECT trace, metadata FROM traces WHERE trace_id = $1", [trace_id])
    about = {
        **_object(metadata), "displayTimeUnit": "ms", "traceName": f"{trace}, pass {pass_id}",
    }  # fmt: skip
    content = json.dumps(about, ensure_ascii=False)[:-1] + ', "traceEvents": [\n' + ",\n".join(events) + "\n]}\n"
    data = content.encode()
    with writing(path):
        path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)
    return len(events)


def _ranges(store: Store, trace_id: str, pass_id: int, layers: Sequence[int]) -> list[dict[str, Any]]:
    found = store.rows(
        """
        SELECT device, range, layer_id, layer_type, start_ns, end_ns, sum_ms
        FROM perfetto_ranges
        WHERE trace_id = $1 AND pass_id = $2 AND ($3 = [] OR range = 'pass' OR list_contains($3, layer_id))
        ORDER BY device, range <> 'pass', start_ns
        """,
        [trace_id, pass_id, list(layers)],
    )
    keys = ("device", "range", "layer_id", "layer_type", "start_ns", "end_ns", "sum_ms")
    return [{**dict(zip(keys, row, strict=True)), "pass_id": pass_id} for row in found]


def _names(devices: Iterable[int]) -> Iterator[str]:
    for device in devices:
        for pid, name, order in (
            (_TRACKS + device, f"device {device}: passes and layers", 0),
            (device, f"device {device}", 1),
        ):
            yield _event("M", "process_name", pid, 0, {"name": name})
            yield _event("M", "process_sort_index", pid, 0, {"sort_index": 2 * device + order})


def _tracks(ranges: Iterable[dict[str, Any]]) -> Iterator[str]:
    """Give each range a begin and an end; ranges that overlap go on tracks of their own."""
    free: dict[tuple[int, str], list[int]] = {}
    for row in ranges:
        level = "pass" if row["range"] == "pass" else "layer"
        ends = free.setdefault((row["device"], level), [])
        lane = next((lane for lane, end in enumerate(ends) if end <= row["start_ns"]), len(ends))
        ends[lane : lane + 1] = [row["end_ns"]]
        args = {"pass": row["pass_id"], "layer": row["layer_id"], "type": row["layer_type"], "sum_ms": row["sum_ms"]}
        name = f"pass {row['pass_id']}" if level == "pass" else _layer_name(row)
        track: dict[str, Any] = {"cat": level, "id": f"{level} {lane}" if lane else level}
        pid = _TRACKS + row["device"]
        known = {key: value for key, value in args.items() if value is not None}
        yield _event("b", name, pid, 0, known, start_ns=row["start_ns"], **track)
        yield _event("e", name, pid, 0, {}, start_ns=row["end_ns"], **track)


def _layer_name(row: dict[str, Any]) -> str:
    if row["range"] != "layer":
        return str(row["range"])
    return f"layer {row['layer_id']}" + (f" {row['layer_type']}" if row["layer_type"] else "")


def _kernels(store: Store, trace_id: str, windows: Sequence[dict[str, Any]]) -> Iterator[str]:
    starts = [(row["device"], row["start_ns"], row["end_ns"]) for row in windows]
    devices, begins, ends = ([list(column) for column in zip(*starts, strict=True)]) if starts else ([], [], [])
    found = store.rows(
        """
        WITH windows AS (
            SELECT unnest(CAST($2 AS INTEGER[])) AS device, unnest(CAST($3 AS BIGINT[])) AS start_ns,
                unnest(CAST($4 AS BIGINT[])) AS end_ns
        )
        SELECT k.device, coalesce(k.stream, 0), k.start_ns, k.dur_ns, k.name, k.category, k.kind, k.correlation,
            l.pass_id, l.layer_id, l.half
        FROM kernels AS k
        SEMI JOIN windows AS w ON w.device = k.device AND k.start_ns >= w.start_ns AND k.start_ns < w.end_ns
        LEFT JOIN layer_kernels AS l ON l.trace_id = k.trace_id AND l.kernel_id = k.kernel_id
        WHERE k.trace_id = $1
        ORDER BY k.start_ns, k.kernel_id
        """,
        [trace_id, devices, begins, ends],
    )
    for device, stream, start_ns, dur_ns, name, category, kind, correlation, pass_id, layer_id, half in found:
        event_category = ("gpu_memset" if category == "memset" else "gpu_memcpy") if kind == "memory" else "kernel"
        args = {
            "device": device, "stream": stream, "correlation": correlation, "category": category,
            "pass": pass_id, "layer": layer_id, "half": half,
        }  # fmt: skip
        known = {key: value for key, value in args.items() if value is not None}
        yield _event("X", name, device, stream, known, start_ns=start_ns, dur_ns=dur_ns, cat=event_category)


def _event(
    ph: str, name: str, pid: int, tid: int, args: dict[str, Any],
    *, start_ns: int | None = None, dur_ns: int | None = None, **more: str,
) -> str:  # fmt: skip
    text = json.dumps({"ph": ph, "name": name, "pid": pid, "tid": tid, **more, "args": args}, ensure_ascii=False)
    # Times as decimal text: a double cannot hold nanoseconds since 1970.
    times = [f', "{key}": {_us(ns)}' for key, ns in (("ts", start_ns), ("dur", dur_ns)) if ns is not None]
    return text[:-1] + "".join(times) + "}"


def _us(ns: int) -> str:
    sign, ns = ("-", -ns) if ns < 0 else ("", ns)
    return f"{sign}{ns // 1000}.{ns % 1000:03d}"


def _object(text: str | None) -> dict[str, Any]:
    try:
        found = json.loads(text or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
