"""Companions of a table of kernels: sums, steps, collectives. A row becomes a metadata event named after its kind."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ...engine.errors import InputError
from ...engine.sql.modules import quoted
from ...engine.storage.paths import readable
from ..lanes import LaneWriter
from ..notes import Notes
from ..reader import Reading
from ..slots import Slot
from ..source import Source
from .rows import PROFILED_SHAPES, metadata_query

#: Kind of table -> columns that identify it, in the order to try them.
_TABLES = {
    "step_trace_time": ("computing", "communication", "free"),
    "op_statistic": ("op type", "core type", "count", "total time(us)"),
    "communication_statistic": ("op type", "count", "total time(us)"),
    "operator_details": ("name", "host self duration(us)", "device self duration(us)"),
    "api_statistic": ("level", "api name", "time(us)", "count"),
    "task_time": ("kernel name", "task time(us)", "task start(us)"),
    "operator_memory": ("name", "size(kb)", "allocation time(us)"),
    "memory_record": ("component", "timestamp(us)", "total allocated(mb)"),
}
_MEANS = {"average duration(us)", "profiling average duration(us)", "duration(us)"}
#: Text near the beginning of each JSON companion.
_MARKS = {
    "communication": (b'"Communication Time Info"',),
    "communication_matrix": (b'"Transport Type"',),
    "simulated_op": (b'"total_ops"', b'"unique_ops"'),
}
#: Maximum size of a JSON companion, which is read whole. The largest known are some ten MB.
_JSON_LIMIT = 512 << 20
_ROWS_AT_ONCE = 20_000
_RANKS = re.compile(r"\(.*\)")
_OPERATION = re.compile(r"(?P<op>.*)@(?P<group>\d+)")


def table_kind(header: list[str]) -> str | None:
    """Return the kind of a table that is not one of kernels, from its header; None if unknown."""
    names = {" ".join(name.strip().lower().replace("_", " ").split()) for name in header}
    for kind, needed in _TABLES.items():
        if names.issuperset(needed):
            return kind
    return PROFILED_SHAPES if "input shapes" in names and names & _MEANS else None


def document_kind(head: bytes) -> str | None:
    """Return the kind of a JSON file that is not a trace, from its beginning; None if unknown."""
    if not head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{") or b'"traceEvents"' in head:
        return None
    return next((kind for kind, marks in _MARKS.items() if all(mark in head for mark in marks)), None)


@dataclass
class DocumentReader:
    """Reads one JSON companion into the lane of metadata.

    Attributes:
        source: the bytes.
        writers: only the first is used.
        notes: collects what could not be read.
        progress: called with the number of events so far.
        kind: the kind of document.
        events: events of the trace so far.
    """

    source: Source
    writers: list[LaneWriter]
    notes: Notes
    progress: Callable[[int], None]
    kind: str
    events: int = 0

    def read(self) -> Reading:
        """Read the document and store its rows.

        Raises:
            InputError: it is not complete JSON text, or too large.
        """
        name = self.source.name
        text = self.source.read(_JSON_LIMIT)
        if self.source.peek(1):
            raise InputError(f"{name}: larger than {_JSON_LIMIT >> 20} MB, which no {self.kind}.json is.")
        try:
            document = json.loads(text.removeprefix(b"\xef\xbb\xbf"))
        except (ValueError, RecursionError) as error:
            raise InputError(f"{name}: not whole JSON: {self.source.cut_short or error}.") from error
        rows = list(_SPLITTERS[self.kind](document))
        first = self.events
        for start in range(0, len(rows), _ROWS_AT_ONCE):
            self._store(rows[start : start + _ROWS_AT_ONCE])
        file_name = readable(self.source.path.name) if self.source.path else "stdin"
        about = {"name": file_name, "kind": self.kind, "first_event": first, "events": self.events - first}
        return Reading(metadata={"files": [about]}, facts={"format": "ascend"})

    def _store(self, rows: list[dict[str, Any]]) -> None:
        data = "\n".join(json.dumps({"args": row}, ensure_ascii=False) for row in rows).encode("utf-8", "replace")
        slot = Slot(len(data), opening=b"", closing=b"")
        source = (
            f"read_json({quoted(slot.path)}, format = 'newline_delimited', columns = {{args: 'JSON'}}, "
            f"maximum_object_size = {max(len(data), 1 << 20)})"
        )
        try:
            slot.fill(data)
            self.notes.redacted += self.writers[0].load(metadata_query(self.kind, "args", source)).redacted
            self.writers[0].store(self.events)
        finally:
            slot.close()
        self.events += len(rows)
        self.progress(self.events)


def _communication(document: Any) -> Iterator[dict[str, Any]]:
    """Yield a row per collective and rank of communication.json, of one rank or of a cluster."""
    for path, found in _leaves(document, "Communication Time Info"):
        yield _place(path) | {
            "time": found.get("Communication Time Info"),
            "bandwidth": found.get("Communication Bandwidth Info"),
        }


def _matrix(document: Any) -> Iterator[dict[str, Any]]:
    """Yield a row per collective and link of communication_matrix.json."""
    for path, found in _leaves(document, "Transport Type"):
        yield _place(path[:-1]) | {"link": path[-1] if path else None} | found


def _simulated(document: Any) -> Iterator[dict[str, Any]]:
    """Yield a row per operator of a simulator's summary."""
    mapped = document.get("mapped_ops") if isinstance(document.get("mapped_ops"), list) else []
    for operator in document.get("ops") or []:
        if isinstance(operator, dict):
            about = {"model": document.get("model"), "scenario": document.get("scenario")}
            yield about | operator | {"mapped": operator.get("op_name") in mapped}


_SPLITTERS: dict[str, Callable[[Any], Iterator[dict[str, Any]]]] = {
    "communication": _communication,
    "communication_matrix": _matrix,
    "simulated_op": _simulated,
}


def _leaves(value: Any, mark: str, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    """Yield the objects that have a certain key, each with its path of keys."""
    if isinstance(value, dict):
        if mark in value:
            yield path, value
        else:
            for key, inner in value.items():
                yield from _leaves(inner, mark, (*path, key))


def _place(path: tuple[str, ...]) -> dict[str, Any]:
    """Return the facts in a collective's path of keys: step, kind, name, group, and in a cluster the ranks."""
    place: dict[str, Any] = dict.fromkeys(("ranks", "step", "kind", "op", "group", "rank"))
    for key in path:
        if _RANKS.fullmatch(key):
            place["ranks"] = key
        elif key in ("collective", "p2p"):
            place["kind"] = key
        elif place["op"] is not None:
            place["rank"] = key
        elif place["step"] is None and (key.startswith("step") or key.isdecimal()):
            place["step"] = key
        else:
            match = _OPERATION.fullmatch(key)
            place |= {"op": match["op"], "group": match["group"]} if match else {"op": key}
    return place
