"""Cache of the parsed SQL modules between processes: parsing 500 files is a third of the CPU time of a small query.

There is one cache file per state of the SQL: its name is a hash of Python's version and of the names, sizes and times
of all SQL files and of the parser's code. Like Python's own cache of compiled code it is written by `marshal`. The
fields of a relation that are rarely needed, most of the file, are read when one of them is first accessed. Without a
readable cache, the files are parsed.
"""

from __future__ import annotations

import contextlib
import hashlib
import marshal
import os
import sys
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

from ..storage.files import publish_bytes
from .modules import Column, Module

#: Days after which an unused cache file is removed.
_KEPT_DAYS = 30
#: Fields that queries need of few relations: reading them for all would take most of the time to read the cache.
_RARE = frozenset({"path", "doc", "columns", "sql"})
#: The length of the checksum that a cache file begins with.
_CHECK = 4


class _Cached(Module):
    """A module from the cache, whose rare fields are read together on first access."""

    def __getattr__(self, name: str) -> Any:
        if name not in _RARE:
            raise AttributeError(name)
        rare = marshal.loads(self.__dict__["_rest"])
        rare["path"] = Path(rare["path"])
        rare["columns"] = tuple(map(Column._make, rare["columns"]))
        self.__dict__.update(rare)
        return rare[name]


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
    path = cache / "tracelake" / "sql" / f"{_state(root, code)}.modules"
    with contextlib.suppress(OSError, ValueError):
        return _read(path.read_bytes())
    text = _written(parse())
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        publish_bytes(path, text)
        _sweep(path.parent)
    return _read(text)


def _state(root: Path, code: Iterable[Path]) -> str:
    parts = [str(root), sys.version]
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


def _written(modules: Iterable[Module]) -> bytes:
    rows = []
    for entry in modules:
        row: dict[str, Any] = {field.name: getattr(entry, field.name) for field in fields(entry)}
        rare = {name: row.pop(name) for name in _RARE}
        rare["path"] = str(entry.path)
        rare["columns"] = tuple(map(tuple, entry.columns))
        rows.append(row | {"_rest": marshal.dumps(rare)})
    text = marshal.dumps(rows)
    return zlib.crc32(text).to_bytes(_CHECK) + text


def _read(text: bytes) -> tuple[Module, ...]:
    """Return the modules in a cache file's text.

    Raises:
        ValueError: it was truncated or changed, on which `marshal` might fail in any way.
    """
    whole = memoryview(text)
    if len(whole) <= _CHECK or zlib.crc32(whole[_CHECK:]) != int.from_bytes(whole[:_CHECK]):
        raise ValueError("not whole")
    found = []
    for row in marshal.loads(whole[_CHECK:]):
        module = _Cached.__new__(_Cached)
        # Bypasses the frozen dataclass's `__setattr__`, which would take as long as the rest.
        module.__dict__.update(row)
        found.append(module)
    return tuple(found)


def _sweep(folder: Path) -> None:
    """Remove cache files that have been unused for long."""
    before = time.time() - _KEPT_DAYS * 86400
    for file in folder.iterdir():
        if file.stat().st_mtime < before:
            file.unlink(missing_ok=True)
