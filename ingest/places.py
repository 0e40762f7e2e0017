"""What the place of a trace's file says of the trace: rank, phase, run, parallelism. By the rules of `place_rules`.

A run is taken from names only where the files that would share it are of different ranks: names do not distinguish two
captures of one rank, and these are not one run.
"""

from __future__ import annotations

import csv
import functools
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Any

from ..engine.modules import csv_file
from ..engine.paths import readable

#: Endings of traces; what else lies in a folder has no place among them.
_TRACES = re.compile(r"((\.pt)?(\.trace)?(\.json|\.xplane\.pb)(\.gz|\.zst)?|_ascend_(pt|ms))$", re.IGNORECASE)
_XSPACE = re.compile(r"\.xplane\.pb(\.gz|\.zst)?$", re.IGNORECASE)
AXES = ("tp", "ep", "dp", "pp")
_RANKS = ("rank", *(f"{axis}_rank" for axis in AXES))
_OF_RUN = "files of the run"
_FOLDERS = 6
#: Files of a folder that are looked at.
_MOST = 20_000


@dataclass(frozen=True)
class Fact:
    """One thing that a place says.

    Attributes:
        value: what it says.
        source: file name, folder name, or files of the run.
        text: the text that says so.
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
    """Return what a path says, by fact."""
    whole = "/".join(part for part in path.parts[-_FOLDERS - 1 :] if part != path.anchor)
    texts = {"file": path.name, "folder": path.parent.name, "path": whole}
    found: dict[str, Fact] = {}
    for rule in _rules():
        if rule.fact not in found and (match := rule.pattern.search(texts[rule.part])):
            # A group that took no part is empty.
            value = match.expand(rule.value).strip("-_. ")
            source = "file name" if rule.part == "file" else "folder name"
            found[rule.fact] = Fact(readable(value), source, readable(match[0]))
    return found


def facts_of(path: Path) -> dict[str, Fact]:
    """Return what a file's place says, the files beside it considered."""
    path = path.absolute()
    found = said_by(path)
    place = found.pop("place", None)
    if "run" not in found:
        return found
    run = found["run"].value
    beside = _beside(path.parent, path.parent.stat().st_mtime_ns)
    of_run = {
        name: facts for name, facts in beside if not _is_capture(facts) and "run" in facts and facts["run"].value == run
    }
    if not place and _is_folder(found):
        # It may hold traces of several jobs: those of one have names that differ in numbers alone.
        shapes = {_shape(name) for name in of_run}
        of_run = {name: facts for name, facts in of_run.items() if _shape(name) == _shape(_stem(path.name))}
        if len(shapes) > 1:
            found["run"] = replace(found["run"], value=f"{run}/{_shape(_stem(path.name))}")
    ranks = [tuple(facts[key].value if key in facts else None for key in _RANKS) for facts in of_run.values()]
    if place and len(of_run) > 1 and "rank" not in found:
        hosts = sorted(of_run, key=_natural)
        if (host := _stem(path.name)) in hosts:
            nth = hosts.index(host)
            found["rank"] = Fact(str(nth), _OF_RUN, f"{place.value} {nth + 1} of {len(hosts)}")
    elif not place and (_is_capture(found) or len(set(ranks)) < len(ranks) or (len(ranks) < 2 and _is_folder(found))):
        del found["run"]
        return found
    for axis in AXES:
        places = {int(facts[f"{axis}_rank"].value) for facts in of_run.values() if f"{axis}_rank" in facts}
        if len(places) > 1 and places == set(range(len(places))):
            found[axis] = Fact(str(len(places)), _OF_RUN, f"{axis} 0 to {len(places) - 1}")
    return found


def _is_capture(facts: dict[str, Fact]) -> bool:
    """Whether a trace is of captures, which are no rank's part of a run."""
    return "phase" in facts and facts["phase"].value == "capture"


def _is_folder(facts: dict[str, Fact]) -> bool:
    """Whether the run is a folder that may hold anything."""
    return facts["run"].source == "folder name" and "iteration" not in facts["run"].value


def columns_of(facts: dict[str, Fact]) -> dict[str, Any]:
    """Return the columns of the catalog entry among facts, with the rank's source."""
    columns: dict[str, Any] = {key: int(facts[key].value) for key in (*_RANKS, *AXES) if key in facts}
    return columns | ({"rank_source": facts["rank"].source} if "rank" in facts else {})


def metadata_of(facts: dict[str, Fact]) -> dict[str, Any]:
    """Return facts as the catalog's metadata has them."""
    said = {key: {"value": one.value, "source": one.source, "text": one.text} for key, one in facts.items()}
    return {"places": said} if said else {}


def shown(metadata: str, rank_source: object) -> str:
    """Return in words what was taken from names, given an entry's metadata and where its rank is from."""
    places = json.loads(metadata).get("places", {})
    if rank_source not in ("file name", "folder name", _OF_RUN):
        places.pop("rank", None)
    return ", ".join(f"{key.replace('_', ' ')} {one['value']} ({one['source']})" for key, one in places.items())


def repeats(files: Iterable[Path]) -> dict[Path, str]:
    """Return those of a folder's traces that say again what others of them say, each with the reason.

    JAX writes a capture as an XSpace and as Chrome traces, the XSpace says more. SGLang merges the traces of ranks.
    """
    folders: dict[Path, set[str]] = {}
    for file in files:
        folders.setdefault(file.parent, set()).add(file.name)
    found: dict[Path, str] = {}
    for folder, names in folders.items():
        spaces = {_stem(name): name for name in sorted(names) if _XSPACE.search(name)}
        for name in names - set(spaces.values()):
            stem = _stem(name)
            if spaces and (stem in spaces or stem == "perfetto_trace"):
                space = spaces.get(stem, next(iter(spaces.values())))
                found[folder / name] = f"{space} is the same capture, and says more."
            elif stem.startswith("merged-") and any(one.startswith(f"{stem[7:]}-TP-") for one in names):
                found[folder / name] = "it repeats the traces of the ranks beside it."
    return found


@functools.lru_cache(maxsize=64)
def _beside(folder: Path, changed_ns: int) -> list[tuple[str, dict[str, Fact]]]:
    """Return the traces of a folder, each of its names once, and what they say."""
    del changed_ns  # what was read of a folder counts until it changes
    files = [one for _, one in zip(range(_MOST), folder.iterdir(), strict=False) if _TRACES.search(one.name)]
    whole = sorted(set(files) - repeats(files).keys())
    return list({_stem(one.name): said_by(one) for one in whole}.items())


def _stem(name: str) -> str:
    return _TRACES.sub("", name)


def _shape(stem: str) -> str:
    return re.sub(r"\d+", "N", stem)


def _natural(name: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", name)]
