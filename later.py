"""Lazy imports of submodules: a command uses few of them, and each takes a millisecond to import."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import ModuleType


def submodules(package: str) -> Callable[[str], ModuleType]:
    """Return a package's `__getattr__` (PEP 562) that imports its modules on first access."""

    def found(name: str) -> ModuleType:
        full = f"{package}.{name}"
        try:
            return importlib.import_module(full)
        except ModuleNotFoundError as error:
            if error.name != full:
                raise
            raise AttributeError(f"module {package!r} has no attribute {name!r}") from None

    return found
