"""A small Chrome trace of one pass: its kernels, and above them threads that show their pass and layer.

Times are those of the original trace, to the nanosecond, so that both can be viewed side by side.

Except for names, all are complete events on named threads, without overlap on a thread. Perfetto takes the `id`
of begin and end events as global to the file, so it would pair those of one device with those of another, and it
drops complete events that overlap another of their thread.
"""

from __future__ import annotations

import gzip
import json
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, SupportsIndex

from ...analysis.passes import check_layers, find_one_pass, whole
from ...analysis.traces import locate
from ...engine.text import json_text
from ..output.files import writing

if TYPE_CHECKING:
    from ...engine.store import Store

#: Processes of passes and layers are numbered from here on; that of the kernels is their device.
_RANGES = 1_000_000
#: Threads for overlapping kernels are numbered from here on; that of the other kernels is their stream.
_OVERLAPPING = 1_000_000
_PASSES, _LAYERS = 1, 2


class _Line(NamedTuple):
    """The content of one thread; sorted as devices and their lines are shown."""

    device: int
    is_stream: bool
    number: int  # of the stream, or _PASSES, _LAYERS

    @property
    def pid(self) -> int:
        return self.device + (0 if self.is_stream else _RANGES)

    @property
    def process(self) -> str:
        return f"device {self.device}" + ("" if self.is_stream else ": passes and layers")

    @property
    def name(self) -> str:
        return f"stream {self.number}" if self.is_stream else {_PASSES: "passes", _LAYERS: "layers"}[self.number]


class _Drawn(NamedTuple):
    """A complete event; times in ns."""

    line: _Line
    category: str
    name: str
    start_ns: int
    end_ns: int
    args: dict[str, Any]


def write_chrome(
    store: Store,
    trace: str,
    path: str | os.PathLike[str],
    pass_id: SupportsIndex | None = None,
    layers: Sequence[int] = (),
) -> int:
    """Write one pass, or some of its layers, as a Chrome trace and return the number of its events.

    Args:
        store: the lake.
        trace: the trace.
        path: the file; gzipped when its name ends in .gz.
        pass_id: the pass; default: the chosen one.
        layers: the layers; default: the whole pass with what surrounds its layers.

    Raises:
        UsageError: the trace has no such pass or layer.
        InputError: the file cannot be written.
    """
    path, trace_id = Path(path), locate(store, trace)
    number = find_one_pass(store, trace_id, pass_id)
    layers = [whole("layer", layer) for layer in layers]
    check_layers(store, trace_id, number, layers)
    ranges = _ranges(store, trace_id, number, layers)
    kernels = _drawn_kernels(store, trace_id, number, layers, {row["device"]: row["shown"] for row in ranges})
    events = list(_events([*_drawn_ranges(ranges), *kernels]))
    [(name, metadata)] = store.rows("SELECT trace, metadata FROM traces WHERE trace_id = $1", [trace_id])
    about = {
        **_object(metadata), "displayTimeUnit": "ms", "traceName": f"{name}, pass {number}",
    }  # fmt: skip
    content = json.dumps(about, ensure_ascii=False)[:-1] + ', "traceEvents": [\n' + ",\n".join(events) + "\n]}\n"
    data = json_text(content).encode()
    with writing(path):
        path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)
    return len(events)


def _ranges(store: Store, trace_id: str, pass_id: int, layers: Sequence[int]) -> list[dict[str, Any]]:
    found = store.rows(
        """
        SELECT device, range, layer_id, layer_type, start_ns, end_ns, sum_ms
        FROM perfetto_ranges
        WHERE trace_id = $1 AND pass_id = $2 AND ($3 = [] OR range = 'pass' OR list_contains($3, layer_id))
        ORDER BY device, start_ns, end_ns DESC
        """,
        [trace_id, pass_id, list(layers)],
    )
    # A device without a number comes after those that have one.
    unnumbered = 1 + max((row[0] for row in found if row[0] is not None), default=-1)
    keys = ("device", "range", "layer_id", "layer_type", "start_ns", "end_ns", "sum_ms")
    return [
        {**dict(zip(keys, row, strict=True)), "pass_id": pass_id, "shown": unnumbered if row[0] is None else row[0]}
        for row in found
    ]


def _drawn_ranges(ranges: Iterable[dict[str, Any]]) -> Iterator[_Drawn]:
    for row in ranges:
        is_pass = row["range"] == "pass"
        yield _Drawn(
            _Line(row["shown"], False, _PASSES if is_pass else _LAYERS),
            "pass" if is_pass else "layer",
            f"pass {row['pass_id']}" if is_pass else _layer_name(row),
            row["start_ns"],
            row["end_ns"],
            {"pass": row["pass_id"], "layer": row["layer_id"], "type": row["layer_type"], "sum_ms": row["sum_ms"]},
        )


def _layer_name(row: dict[str, Any]) -> str:
    if row["range"] != "layer":
        return str(row["range"])
    return f"layer {row['layer_id']}" + (f" {row['layer_type']}" if row["layer_type"] else "")


def _drawn_kernels(
    store: Store, trace_id: str, pass_id: int, layers: Sequence[int], shown: Mapping[int, int]
) -> Iterator[_Drawn]:
    found = store.rows(
        """
        SELECT device, stream, start_ns, end_ns, name, category, kind, correlation, pass_id, layer_id, half
        FROM _perfetto_kernels($1, $2, CAST($3 AS BIGINT[]))
        ORDER BY start_ns, kernel_id
        """,
        [trace_id, pass_id, list(layers)],
    )
    for device, stream, start_ns, end_ns, name, category, kind, correlation, of_pass, layer_id, half in found:
        event_category = ("gpu_memset" if category == "memset" else "gpu_memcpy") if kind == "memory" else "kernel"
        args = {
            "device": device, "stream": stream, "correlation": correlation, "category": category,
            "pass": of_pass, "layer": layer_id, "half": half,
        }  # fmt: skip
        yield _Drawn(_Line(shown[device], True, stream), event_category, name, start_ns, end_ns, args)


def _events(drawn: Sequence[_Drawn]) -> Iterator[str]:
    """Yield the text of events that are in time order along each line, the names of processes and threads first."""
    ends: dict[_Line, list[int]] = defaultdict(list)
    lanes = [_first_free(ends[event.line], event) for event in drawn]
    threads = sorted(set(zip((event.line for event in drawn), lanes, strict=True)))
    tids = {(line, lane): _OVERLAPPING + order if lane else line.number for order, (line, lane) in enumerate(threads)}
    for order, (line, lane) in enumerate(threads):
        beside = f", overlapping {lane}" if lane else ""
        for name, args in (
            ("process_name", {"name": line.process}),
            ("process_sort_index", {"sort_index": 2 * line.device + line.is_stream}),
            ("thread_name", {"name": line.name + beside}),
            ("thread_sort_index", {"sort_index": order}),
        ):
            yield json.dumps({"ph": "M", "name": name, "pid": line.pid, "tid": tids[line, lane], "args": args})
    for event, lane in zip(drawn, lanes, strict=True):
        known = {key: value for key, value in event.args.items() if value is not None}
        on = {"cat": event.category, "pid": event.line.pid, "tid": tids[event.line, lane]}
        text = json.dumps({"ph": "X", "name": event.name, **on, "args": known}, ensure_ascii=False)
        # Times as decimal text: a double cannot hold nanoseconds since 1970.
        yield f'{text[:-1]}, "ts": {_us(event.start_ns)}, "dur": {_us(event.end_ns - event.start_ns)}}}'


def _first_free(ends: list[int], event: _Drawn) -> int:
    """Return the first lane of a line whose last event has ended when this one starts, and add this one to it."""
    lane = next((lane for lane, end in enumerate(ends) if end <= event.start_ns), len(ends))
    ends[lane : lane + 1] = [event.end_ns]
    return lane


def _us(ns: int) -> str:
    sign, ns = ("-", -ns) if ns < 0 else ("", ns)
    return f"{sign}{ns // 1000}.{ns % 1000:03d}"


def _object(text: str | None) -> dict[str, Any]:
    try:
        found = json.loads(text or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
