"""The one way to the replicas of other tools' figures: by name, so that the product works where they were taken out."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

from .errors import UsageError


def of(package: str) -> Any:
    """Return the replicas' part of a package, as `reports`; None where it was taken out."""
    name = f"{__package__.rpartition('.')[0]}.{package}.compat"
    return importlib.import_module(name) if importlib.util.find_spec(name) else None


def find(package: str) -> Any:
    """Return the replicas' part of a package.

    Raises:
        UsageError: it was taken out.
    """
    if (found := of(package)) is None:
        raise UsageError("compat: this tracelake has no replicas of other tools' figures.")
    return found
