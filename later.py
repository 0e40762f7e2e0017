"""Modules that are imported when they are first asked for: a command uses few of them, and each takes a millisecond."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import ModuleType


def submodules(package: str) -> Callable[[str], ModuleType]:
    """Return the `__getattr__` of a package that imports its modules as they are asked for, as PEP 562 has it."""

    def found(name: str) -> ModuleType:
        full = f"{package}.{name}"
        try:
            return importlib.import_module(full)
        except ModuleNotFoundError as error:
            if error.name != full:
                raise
            raise AttributeError(f"module {package!r} has no attribute {name!r}") from None

    return found
