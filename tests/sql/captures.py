"""Small lakes for the tests of layers: events made by the test, or read from a real trace, go through the ingest."""

from __future__ import annotations

import functools
import gzip
import json
import re
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from tracelake.engine.sql import modules
from tracelake.lake import Lake

from ..lakes import Files, Own, ingest_at_once
from ..support import data_file

#: The real traces that the layers were worked out of by hand, by the name of the case.
KINETO_FILES = {
    "G1": "sglang_qwen3-8b_prefill_mi300x",
    "G2": "sglang_qwen3-8b_decode_mi300x",
    "G3": "vllm_gpt-oss_decode_mi300x",
    "G5": "vllm_gpt-oss_prefill_tp_b200",
    "G6": "hf_qwen1.5-0.5b_h100",
}
_PARAMETER = re.compile(r"\$(\w+)")


@dataclass(frozen=True)
class Capture:
    """A trace and its settings; `config` is the text of a config.json."""

    name: str
    events: Sequence[dict[str, Any]]
    settings: dict[str, Any] = field(default_factory=dict)
    rank: int | None = None


class Captures:
    """A lake of captures, and their ids."""

    def __init__(self, captures: Iterable[Capture]) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="tracelake-captures-")
        folder = Path(self._folder.name)
        listed = list(captures)
        for capture in listed:
            # The name is part of the content: equal events under two names are two traces.
            (folder / f"{capture.name}.json").write_text(as_text(capture.name, capture.events))
        self._lake = Lake(folder / "lake")
        files = {folder / f"{capture.name}.json": settings_of(capture) for capture in listed}
        names = [capture.name for capture in listed]
        self.ids = dict(zip(names, ingest_at_once(self._lake, files), strict=True))

    def sql(self, query: str, **parameters: Any) -> Any:
        """Return the answer to a query as a DuckDB relation."""
        return self._lake.sql(query, **parameters)


def captured(folder: Path, capture: Capture) -> Files:
    """Return the file of a capture and its settings, for a test in a lake of several."""
    path = folder / f"{capture.name}.json"
    # Equal events of two tests are two traces.
    path.write_text(as_text(str(path), capture.events))
    return Files(path, **settings_of(capture))


def settings_of(capture: Capture) -> dict[str, Any]:
    """Return the settings of a capture, its rank among them."""
    return {"rank": capture.rank, **capture.settings}


def open_lake(captures: Iterable[Capture]) -> Captures:
    """Return a lake of the captures."""
    return Captures(captures)


def rows(lake: Captures | Own, query: str) -> list[tuple[Any, ...]]:
    """Return a query's rows; `$name` in it, and the name in an answer, stand for the id of that capture."""
    names = {trace_id: name for name, trace_id in lake.ids.items()}
    asked = {name: lake.ids[name] for name in _PARAMETER.findall(query)}
    found = lake.sql(query, **asked).fetchall()
    return [tuple(names.get(cell, cell) if isinstance(cell, str) else cell for cell in row) for row in found]


def as_text(name: str, events: Sequence[dict[str, Any]]) -> str:
    """Return a trace as JSON, decimal numbers digit by digit."""
    # A phase for those made without one; a number that is no float is written between marks, which then go.
    text = json.dumps(
        {"capture": name, "traceEvents": [{"ph": "X", **event} for event in events]},
        default=lambda number: f"\x01{number}\x01",
    )
    return text.replace('"\\u0001', "").replace('\\u0001"', "")


@functools.cache
def kineto_events(case: str) -> list[dict[str, Any]]:
    """Read the timed events of a case; skip the test where the traces are absent."""
    with gzip.open(data_file(f"kineto/{KINETO_FILES[case]}.json.gz")) as file:
        events = json.load(file, parse_float=Decimal)["traceEvents"]
    return [event for event in events if event.get("ph") == "X" and "ts" in event]


def device_events(events: Sequence[dict[str, Any]]) -> list[int]:
    """Return the places of all kernels in the list of events, sorted by start; copies are no kernels."""
    kernels = [(event["ts"], place) for place, event in enumerate(events) if event.get("cat") == "kernel"]
    return [place for _, place in sorted(kernels)]


def sql_of(name: str) -> str:
    """Return the statement that creates a relation of the product."""
    entry = modules.module(name)
    assert entry is not None
    return entry.sql
