"""Cache of the parsed SQL modules between processes: parsing 500 files is a third of the CPU time of a small query.

There is one cache file per state of the SQL: its name is a hash of the names, sizes and times of all SQL files and of
the parser's code. Its first line has what every query needs of each relation, with the offsets of the rarely needed
rest, which is most of the file. Without a readable cache, the files are parsed.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import hashlib
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..storage.files import publish_bytes

if TYPE_CHECKING:
    from .modules import Module

#: Days after which an unused cache file is removed.
_KEPT_DAYS = 30
#: Fields that queries need of few relations: reading them for all would take most of the time to read the cache.
_RARE = ("path", "doc", "columns", "sql", "rows_from")


def cached(root: Path, code: Iterable[Path], parse: Callable[[], tuple[Module, ...]]) -> tuple[Module, ...]:
    """Return the result of `parse` for the files below a folder, from the cache if possible.

    Args:
        root: the folder of SQL files.
        code: the files of the code that parses them.
        parse: parses them.
    """
    try:
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError:
        # The user has no home.
        return parse()
    path = cache / "tracelake" / "sql" / f"{_state(root, code)}.json"
    with contextlib.suppress(OSError, ValueError, TypeError, LookupError):
        if known := _read(path.read_bytes(), root):
            return known
    text = _written(parse(), root)
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        publish_bytes(path, text)
        _sweep(path.parent)
    return _read(text, root)


@contextlib.contextmanager
def _without_collector() -> Iterator[None]:
    """Pause the garbage collector: its repeated scans would take a third of the time to read the cache."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _state(root: Path, code: Iterable[Path]) -> str:
    parts = [str(root)]
    for file in (__file__, *map(str, code), *sorted(_files(str(root)))):
        stat = os.stat(file)  # noqa: PTH116 - a Path for each takes longer than its state
        parts.append(f"{file}\0{stat.st_size}\0{stat.st_mtime_ns}")
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:32]


def _files(folder: str) -> Iterator[str]:
    """Yield the files of SQL and of shipped rows below a folder; pathlib takes four times as long."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _files(entry.path)
            elif entry.name.endswith((".sql", ".csv")):
                yield entry.path


def _written(modules: Iterable[Module], root: Path) -> bytes:
    rows, rest, at = [], [], 0
    for entry in modules:
        row = _dump(entry, root)
        rare = json.dumps({name: row.pop(name) for name in _RARE}).encode()
        rows.append((row, at, at := at + len(rare)))
        rest.append(rare)
    return b"\n".join([json.dumps(rows).encode(), b"".join(rest)])


def _dump(entry: Module, root: Path) -> dict[str, Any]:
    row: dict[str, Any] = {field.name: getattr(entry, field.name) for field in fields(entry)}
    row |= {name: sorted(value) for name, value in row.items() if isinstance(value, frozenset)}
    row["rows_from"] = [sorted(names) for names in entry.rows_from]
    row["path"] = entry.path.relative_to(root).as_posix()
    row["columns"] = [(column.name, column.type, column.text) for column in entry.columns]
    return row


def _read(text: bytes, root: Path) -> tuple[Module, ...]:
    """Return the modules in a cache file's text.

    Raises:
        ValueError, TypeError, LookupError: it has another format, or is truncated.
    """
    end = text.index(b"\n")
    with _without_collector():
        rows = json.loads(text[:end])
        rest = text[end + 1 :]
        if len(rest) != (rows[-1][2] if rows else 0):
            raise ValueError("not whole")
        return tuple(_load(_known(), row, rest[start:stop], root) for row, start, stop in rows)


def _load(known: type[Module], row: dict[str, Any], rest: bytes, root: Path) -> Module:
    row["key"] = tuple(row["key"])
    for name in ("uses", "others", "optional"):
        row[name] = frozenset(row[name])
    module = known.__new__(known)
    # Bypasses the frozen dataclass's `__setattr__`, which would take as long as the rest.
    module.__dict__.update(row, _rest=rest, _root=root)
    return module


class _Rare:
    """An attribute of a cached module that is parsed on first access, together with the other rare ones."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, module: Module, kind: type[Module]) -> Any:
        from .modules import Column

        row = json.loads(module.__dict__["_rest"])
        row["path"] = module.__dict__["_root"] / row["path"]
        row["columns"] = tuple(tuple.__new__(Column, column) for column in row["columns"])
        row["rows_from"] = tuple(map(frozenset, row["rows_from"]))
        module.__dict__.update(row)
        return row[self._name]


@functools.cache
def _known() -> type[Module]:
    """Return the class of modules from the cache."""
    from .modules import Module

    return type("Known", (Module,), {name: _Rare(name) for name in _RARE})


def _sweep(folder: Path) -> None:
    """Remove cache files that have been unused for long."""
    before = time.time() - _KEPT_DAYS * 86400
    for file in folder.glob("*.json"):
        if file.stat().st_mtime < before:
            file.unlink(missing_ok=True)
