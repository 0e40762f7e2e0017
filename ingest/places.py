"""Facts from the names of a trace's file and folders: rank, phase, run, parallelism. By `place_rules`."""

from __future__ import annotations

import csv
import functools
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

from ..engine.sql.modules import csv_file
from ..engine.storage.paths import readable

#: Suffixes of traces, by kind; other files in a folder are not its neighbours.
_TRACES = re.compile(
    r"((?:\.pt)?(?:\.trace)?(?:(?P<json>\.json)|(?P<xspace>\.xplane\.pb)|(?P<table>\.csv))(?:\.gz|\.zst)?"
    r"|(?P<ascend>_ascend_(?:pt|ms))|(?P<database>\.sqlite|\.db)|(?P<export>[._](?:pqt|arw|parquet|arrow)dir))$",
    re.IGNORECASE,
)
_XSPACE = re.compile(r"\.xplane\.pb(\.gz|\.zst)?$", re.IGNORECASE)
#: CANN's folder of tables, and the database of the same capture beside it.
_MSPROF, _MSPROF_DATABASE = "mindstudio_profiler_output", re.compile(r"msprof_\d+\.db")
#: rocprofv3's JSON of a capture, beside a database of the same name if both formats were asked for.
_ROCPROF = re.compile(r"(^|_)results\.json$")
AXES = ("tp", "ep", "dp", "pp")
RANKS = ("rank", *(f"{axis}_rank" for axis in AXES))
OF_RUN = "files of the run"
_BY_NAMES = ("file name", "folder name", OF_RUN)
_FOLDERS = 6


@dataclass(frozen=True)
class Fact:
    """One fact from a path.

    Attributes:
        value: the fact's value.
        source: file name, folder name, or files of the run.
        text: the text it was taken from.
    """

    value: str
    source: str
    text: str


@dataclass(frozen=True)
class _Rule:
    fact: str
    part: str
    pattern: re.Pattern[str]
    value: str


@functools.cache
def _rules() -> tuple[_Rule, ...]:
    with csv_file("place_rules").open(encoding="utf-8", newline="") as rows:
        found = sorted(csv.DictReader(rows), key=lambda row: int(row["priority"]))
    return tuple(
        _Rule(row["fact"], row["part"], re.compile(row["pattern"], re.IGNORECASE), row["value"] or r"\1")
        for row in found
    )


def said_by(path: PurePath) -> dict[str, Fact]:
    """Return the facts in a path, by name."""
    whole = "/".join(part for part in path.parts[-_FOLDERS - 1 :] if part != path.anchor)
    texts = {"file": path.name, "folder": path.parent.name, "path": whole}
    found: dict[str, Fact] = {}
    for rule in _rules():
        if rule.fact not in found and (match := rule.pattern.search(texts[rule.part])):
            # A group that did not participate is empty.
            value = match.expand(rule.value).strip("-_. ")
            source = "file name" if rule.part == "file" else "folder name"
            found[rule.fact] = Fact(readable(value), source, readable(match[0]))
    return found


def possible(facts: dict[str, Fact], distributed: Any) -> dict[str, Fact]:
    """Return the facts without places that a job of the size in the file's `distributedInfo` does not have.

    Each replica may have its own world and count its ranks from 0: places among replicas and experts may be beyond it.
    """
    world = distributed.get("world_size") if isinstance(distributed, dict) else None
    if not isinstance(world, int):
        return facts
    return {key: one for key, one in facts.items() if key not in ("tp_rank", "pp_rank") or int(one.value) < world}


def taken_by(entry: Mapping[str, Any], facts: dict[str, Fact]) -> dict[str, Any]:
    """Return the catalog columns taken from names: those that the file lacks, or knows less well."""
    found: dict[str, Any] = {
        key: int(facts[key].value) for key in (*RANKS, *AXES) if key in facts and entry.get(key) is None
    }
    # Each replica counts its ranks from 0: only its files in relation to the others' show which replica it is.
    if "rank" in facts and ("rank" in found or facts["rank"].source == OF_RUN):
        found |= {"rank": int(facts["rank"].value), "rank_source": facts["rank"].source}
    return found


def metadata_of(facts: dict[str, Fact]) -> dict[str, Any]:
    """Return facts in the format of the catalog's metadata."""
    said = {key: {"value": one.value, "source": one.source, "text": one.text} for key, one in facts.items()}
    return {"places": said} if said else {}


def shown(entry: Mapping[str, Any], given: Mapping[str, str | None]) -> str:
    """Return as text what was taken from names, and what was not because the file or a setting overrides it."""
    words = []
    for key, one in json.loads(entry.get("metadata") or "{}").get("places", {}).items():
        is_given = given.get(key) is not None
        held, what = given[key] if is_given else entry.get(key), key.replace("_", " ")
        by_name = not is_given and (key != "rank" or entry.get("rank_source") in _BY_NAMES)
        if held is not None and str(held) != one["value"]:
            source = "user" if is_given else "the file" if by_name else entry["rank_source"]
            words.append(f"{what} {held} ({source}; {one['source']}: {one['value']})")
        elif by_name:
            words.append(f"{what} {one['value']} ({one['source']})")
    return ", ".join(words)


def repeats(files: Iterable[Path]) -> dict[Path, str]:
    """Return the redundant ones among a folder's traces, each with the reason.

    JAX writes a capture both as an XSpace, which has more, and as Chrome traces. SGLang merges the traces of ranks.
    CANN's exporter puts a database beside the folder of its tables, rocprofv3 its JSON beside its database.
    """
    folders: dict[Path, set[str]] = {}
    for file in files:
        folders.setdefault(file.parent, set()).add(file.name)
    found: dict[Path, str] = {}
    for folder, names in folders.items():
        spaces = {stem_of(name): name for name in sorted(names) if _XSPACE.search(name)}
        databases = {stem_of(name): name for name in names if kind_of(name) == "database"}
        for name in names - set(spaces.values()):
            stem = stem_of(name)
            if _ROCPROF.search(name) and stem in databases:
                found[folder / name] = f"{databases[stem]} is the same capture."
            if _MSPROF in names and _MSPROF_DATABASE.fullmatch(name):
                found[folder / name] = f"{_MSPROF} is the same capture."
            if spaces and (stem in spaces or stem == "perfetto_trace"):
                space = spaces.get(stem, next(iter(spaces.values())))
                found[folder / name] = f"{space} is the same capture, and says more."
            elif stem.startswith("merged-") and any(one.startswith(f"{stem[7:]}-TP-") for one in names):
                found[folder / name] = "it repeats the traces of the ranks beside it."
    return found


def kind_of(name: str) -> str:
    """Return the kind of trace implied by a name's suffix; empty if it is none."""
    found = _TRACES.search(name)
    return next((kind for kind, text in (found.groupdict() if found else {}).items() if text), "")


def stem_of(name: str) -> str:
    """Return a name without the suffix of its kind."""
    return _TRACES.sub("", name)
