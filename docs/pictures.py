"""The SQL as Mermaid flow charts: the way of an event through the folders, and the relations of a folder."""

from __future__ import annotations

import functools
from collections.abc import Iterator

from tracelake.engine.sql import modules
from tracelake.reports.output import rooms


def way_of_an_event() -> list[str]:
    """Return the chart of the way from a file to an answer, with an arrow where a folder reads another."""
    lines = [
        "flowchart LR",
        '  file(["trace file"]) -->|ingest| events[("events/*.parquet")] --> core',
        '  models(["models, scenarios"]) --> model',
    ]
    known = {entry.name: entry for entry in modules.modules()}
    read = {
        (known[used].folder, entry.folder)
        for entry in known.values()
        for used in entry.uses & known.keys()
        if known[used].folder not in (entry.folder, "lookup") and entry.folder != "invariants"
    }
    # Twins are the models' SQL over passes: match reads them by the schema's name.
    read.add(("model", "match"))
    lines += [f"  {below} --> {above}" for below, above in sorted(read, key=lambda pair: tuple(map(rooms.place, pair)))]
    return [*lines, '  match & timeline & compare --> answer(["commands, Python, BI"])']


def of_folder(folder: str) -> list[str]:
    """Return the chart of a folder's public and stored relations; empty for tables and for unconnected relations."""
    known = {entry.name: entry for entry in modules.modules()}
    inside = [entry for entry in known.values() if entry.folder == folder and _is_drawn(entry)]
    edges = sorted({(below, entry.name) for entry in inside for below in _below(entry.name)})
    if not edges:
        return []
    lines = ["flowchart LR"]
    for name in sorted({name for edge in edges for name in edge}):
        entry = known[name]
        label = f"{name}<br>{', '.join(entry.key)}" if entry.key else name
        shape = ("([", "])") if entry.folder != folder else ("[[", "]]") if entry.materialised else ("[", "]")
        lines.append(f'  {name}{shape[0]}"{label}"{shape[1]}')
    return [*lines, *(f"  {below} --> {above}" for below, above in edges)]


def _is_drawn(entry: modules.Module) -> bool:
    return entry.kind == "VIEW" and (entry.public or entry.materialised)


@functools.cache
def _below(name: str) -> frozenset[str]:
    """Return the public and stored relations that one reads, directly or through private views."""
    return frozenset(_reached(name))


def _reached(name: str) -> Iterator[str]:
    known = {entry.name: entry for entry in modules.modules()}
    for used in sorted(known[name].uses & known.keys()):
        if _is_drawn(known[used]):
            yield used
        elif known[used].kind != "TABLE":
            yield from _below(used)
