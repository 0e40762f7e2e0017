"""Loads the replicas of other tools' figures by name, so that the product works without them."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

from .errors import UsageError


def of(package: str) -> Any:
    """Return a package's `compat` part, for example of `reports`; None if it was removed."""
    name = f"{__package__.rpartition('.')[0]}.{package}.compat"
    return importlib.import_module(name) if importlib.util.find_spec(name) else None


def find(package: str) -> Any:
    """Return a package's `compat` part.

    Raises:
        UsageError: it was removed.
    """
    if (found := of(package)) is None:
        raise UsageError("compat: this tracelake has no replicas of other tools' figures.")
    return found
