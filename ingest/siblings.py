"""Finds which traces in a folder belong to one run, and what they show together.

A run is taken from names only if the files that would share it have different ranks and belong to jobs of one size.
If a rank occurs more than once, the times in the names show which files belong to one capture, if captures are
further apart than the files of each.
"""

from __future__ import annotations

import datetime
import functools
import itertools
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from ..engine.errors import InputError
from .ascend.folder import folder_facts
from .places import AXES, OF_RUN, RANKS, Fact, kind_of, repeats, said_by, stem_of
from .source import Source

#: Maximum number of files of a folder that are considered.
_MOST = 20_000
#: Kineto writes the facts about the job before the events.
_HEAD = 64 << 10
_JOB = re.compile(rb'"distributedInfo"\s*:\s*\{([^{}\[\]]*)')
_JOB_NUMBER = re.compile(rb'"(rank|world_size)"\s*:\s*(\d{1,9})\b')
#: Where rank and place begin in a name whose digits are replaced.
_PLACES = re.compile(r"[-_.]?(?:rank|worker|dcp|[tdpe]p)[-_]?N", re.IGNORECASE)
#: Digits of a time since 1970 -> its unit in nanoseconds.
_UNITS = {13: 10**6, 16: 10**3, 19: 1}


@dataclass(frozen=True)
class _Trace:
    """A trace of a folder.

    Attributes:
        name: its name without the suffix of traces, prefixed by its folder's if each rank has one.
        facts: facts from its names.
        rank: its rank, from the file rather than from its name.
        world: ranks of its job, from the file.
        written_ns: when it was written, from its name.
    """

    name: str
    facts: dict[str, Fact]
    rank: int | None
    world: int | None
    written_ns: int | None

    @property
    def place(self) -> tuple[int | str | None, ...]:
        """Its rank, and its position along the axes of parallelism."""
        return (self.rank, *(self.facts[key].value if key in self.facts else None for key in RANKS[1:]))

    @property
    def shape(self) -> str:
        """What its name shares with those of its job: all but numbers; a host's name if it has no rank."""
        return _shape(self.name) if "rank" in self.facts else ""


def facts_of(path: Path) -> dict[str, Fact]:
    """Return the facts from a trace's location, considering the traces beside it."""
    path = path.absolute()
    found = said_by(path)
    # Facts that the rules give for use here only.
    host, _, _ = (found.pop(fact, None) for fact in ("host", "written", "common"))
    if "run" not in found:
        return found
    run = found["run"]
    if _is_capture(found):
        del found["run"]
        return found
    of_run = [one for one in _beside(path) if one.facts["run"].value == run.value]
    if host:
        of_run = [one for one in of_run if "host" in one.facts]
        return _of_hosts(path, found, host, of_run)
    of_run = [one for one in of_run if any(part is not None for part in one.place)]
    mine = _name(path, by_folder=_has_its_folder(path))
    here = next((one for one in of_run if one.name == mine), None)
    if here is None:
        del found["run"]
        return found
    name = _of_folder(path, run.value) if _is_folder(found) else run.value
    if _is_folder(found):
        # The folder may hold traces of several jobs: names within a job differ in numbers only.
        if label := _label(here.shape, {one.shape for one in of_run}):
            name = f"{name}/{label}"
        of_run = [one for one in of_run if one.shape == here.shape]
    captures = _captures(of_run)
    capture = next((each for each in captures if here in each), [])
    if not capture or (_is_folder(found) and (len(capture) < 2 or len({one.world for one in capture}) > 1)):
        del found["run"]
        return found
    if len(captures) > 1:
        name = f"{name}/{_moment(capture[0])}"
    found["run"] = replace(run, value=name)
    return found | _degrees(capture) | _rank_among(here, capture)


def _of_hosts(path: Path, found: dict[str, Fact], host: Fact, of_run: list[_Trace]) -> dict[str, Fact]:
    """Return the facts of a host's trace: each of several hosts is a rank, in the order of their names."""
    hosts = sorted((one.name for one in of_run), key=_natural)
    if len(hosts) > 1 and "rank" not in found and (name := stem_of(path.name)) in hosts:
        nth = hosts.index(name)
        found["rank"] = Fact(str(nth), OF_RUN, f"{host.value} {nth + 1} of {len(hosts)}")
    return found | _degrees(of_run)


def _is_capture(facts: dict[str, Fact]) -> bool:
    """Whether a trace is one of several captures, which are not ranks of a run."""
    return "phase" in facts and facts["phase"].value == "capture"


def _is_folder(facts: dict[str, Fact]) -> bool:
    """Whether the run is a folder that may hold anything."""
    return facts["run"].source == "folder name" and "iteration" not in facts["run"].value


def _of_folder(path: Path, run: str) -> str:
    """Return the name of a run that is a folder; a generic name is prefixed by that of the parent folder."""
    folder = next((above for above in path.parents if above.name == run), None)
    if folder and folder.parent.name and "common" in said_by(folder / path.name):
        return f"{folder.parent.name}/{run}"
    return run


def _label(shape: str, shapes: set[str]) -> str:
    """Return what distinguishes the names of a job in a folder: the part before the rank, if that does."""
    heads = {one: _PLACES.split(one)[0] for one in shapes}
    return "" if len(shapes) == 1 else heads[shape] if len(set(heads.values())) == len(shapes) else shape


def _captures(traces: list[_Trace]) -> list[list[_Trace]]:
    """Return the traces of each capture in a folder; empty if names do not show which traces belong together."""
    if len({one.place for one in traces}) == len(traces):
        return [traces]
    timed = [(one.written_ns, one) for one in traces if one.written_ns is not None]
    if len(timed) < len(traces):
        return []
    captures: list[list[tuple[int, _Trace]]] = [[]]
    for at, one in sorted(timed, key=lambda pair: (pair[0], pair[1].name)):
        if one.place in {other.place for _, other in captures[-1]}:
            captures.append([])
        captures[-1].append((at, one))
    spread = max(each[-1][0] - each[0][0] for each in captures)
    apart = min(later[0][0] - earlier[-1][0] for earlier, later in itertools.pairwise(captures))
    alike = len({frozenset(one.place for _, one in each) for each in captures}) == 1
    return [[one for _, one in each] for each in captures] if alike and spread < apart else []


def _moment(trace: _Trace) -> str:
    """Return when a trace was written, in UTC to the millisecond."""
    at = datetime.datetime.fromtimestamp((trace.written_ns or 0) // 10**6 / 1000, datetime.UTC)
    return at.replace(tzinfo=None).isoformat(timespec="milliseconds")


def _degrees(of_run: Iterable[_Trace]) -> dict[str, Fact]:
    """Return the degree of each axis along which the traces of a run have all positions from 0 on."""
    found = {}
    for axis in AXES:
        places = {int(one.facts[f"{axis}_rank"].value) for one in of_run if f"{axis}_rank" in one.facts}
        if len(places) > 1 and places == set(range(len(places))):
            found[axis] = Fact(str(len(places)), OF_RUN, f"{axis} 0 to {len(places) - 1}")
    return found


def _rank_among(here: _Trace, of_run: list[_Trace]) -> dict[str, Fact]:
    """Return the rank if each replica counts its own from 0: those of earlier replicas come first."""
    ranks = [one.rank for one in of_run]
    if len(set(ranks)) == len(ranks) or None in ranks or not all("dp_rank" in one.facts for one in of_run):
        return {}
    order = sorted((int(one.facts["dp_rank"].value), one.rank or 0) for one in of_run)
    if len(set(order)) < len(order):
        return {}
    mine = (int(here.facts["dp_rank"].value), here.rank or 0)
    return {"rank": Fact(str(order.index(mine)), OF_RUN, f"dp {mine[0]}, rank {mine[1]} there")}


def _beside(path: Path) -> list[_Trace]:
    """Return the traces that may belong to one run with a trace, including itself, each once."""
    folders = [path.parent]
    if by_folder := _has_its_folder(path):
        alike = _shape(path.parent.name)
        folders = [one for one in _some(path.parent.parent) if _shape(one.name) == alike and one.is_dir()]
    # Cached until one of the folders changes.
    changed = tuple((str(folder), folder.stat().st_mtime_ns) for folder in sorted(folders))
    return _in_folders(changed, kind_of(path.name), by_folder=by_folder)


@functools.lru_cache(maxsize=64)
def _in_folders(folders: tuple[tuple[str, int], ...], kind: str, *, by_folder: bool) -> list[_Trace]:
    found: dict[str, _Trace] = {}
    for folder, _ in folders:
        files = {one for one in _some(Path(folder)) if kind_of(one.name)}
        for one in sorted(files - repeats(files).keys()):
            facts = said_by(one)
            if kind_of(one.name) == kind and "run" in facts and not _is_capture(facts):
                name = _name(one, by_folder=by_folder)
                found[name] = _trace(one, name, facts)
    return list(found.values())


def _some(folder: Path) -> list[Path]:
    """Return a folder's content, up to the maximum; empty if it cannot be listed."""
    with suppress(OSError):
        return list(itertools.islice(folder.iterdir(), _MOST))
    return []


def _has_its_folder(path: Path) -> bool:
    """Whether each rank has its own folder."""
    run = said_by(path).get("run")
    return run is not None and _is_folder({"run": run}) and path.parent.name != run.value == path.parent.parent.name


def _name(path: Path, *, by_folder: bool) -> str:
    """Return the name of a trace among those beside it."""
    return f"{path.parent.name}/{stem_of(path.name)}" if by_folder else stem_of(path.name)


def _trace(path: Path, name: str, facts: dict[str, Fact]) -> _Trace:
    own, world = _own(path) if "host" not in facts else (None, None)
    rank = int(facts["rank"].value) if own is None and "rank" in facts else own
    return _Trace(name, facts, rank, world, _time(facts["written"].value) if "written" in facts else None)


def _own(path: Path) -> tuple[int | None, int | None]:
    """Return the rank in a trace itself, and the ranks of its job, as far as its beginning shows them."""
    if kind_of(path.name) == "ascend":
        rank = folder_facts(path).get("rank")
        return (rank if isinstance(rank, int) else None), None
    if kind_of(path.name) != "json" or not path.is_file():
        return None, None
    try:
        source = Source(path)
    except InputError:
        return None, None
    job = _JOB.search(source.read(_HEAD))
    source.close()
    said = {key.decode(): int(number) for key, number in _JOB_NUMBER.findall(job[1])} if job else {}
    return said.get("rank"), said.get("world_size")


def _time(digits: str) -> int | None:
    """Return a time in nanoseconds since 1970, from digits that are a number of some unit, or a date and time."""
    if unit := _UNITS.get(len(digits)):
        return int(digits) * unit
    with suppress(ValueError):
        at = datetime.datetime.strptime(digits[:14], "%Y%m%d%H%M%S").replace(tzinfo=datetime.UTC)
        return int(at.timestamp()) * 10**9 + int(digits[14:] or 0) * 10**6
    return None


def _shape(text: str) -> str:
    return re.sub(r"\d+", "N", text)


def _natural(name: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", name)]
