"""Lakes that store only what the questions of a test rest on: to plan the queries of all relations takes a second."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from tracelake.engine import current
from tracelake.engine.sql import lineage, modules

#: What is computed once of the relations that are stored.
_CACHED = (current._used, lineage.reached, modules.fingerprint, modules.linked, modules.links)


def store_only(*names: str) -> None:
    """Have lakes of this process store, from now on, only what some relations rest on."""
    kept = modules.stored() & modules.closure(names)
    modules.stored = lambda: kept
    _forget()


@contextlib.contextmanager
def storing_only(*names: str) -> Iterator[None]:
    """Have lakes of this process store only what some relations rest on. Others see their answers as stale."""
    whole = modules.stored
    store_only(*names)
    try:
        yield
    finally:
        modules.stored = whole
        _forget()


def _forget() -> None:
    for cached in _CACHED:
        cached.cache_clear()
