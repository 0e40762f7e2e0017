"""How close measured times come to a chip's peak: of a model's forward pass, or of a trace's own kernels."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, SupportsIndex, Unpack

from ...analysis.mfu import Workload, measured
from ...analysis.passes import find_one_pass
from ...engine.errors import UsageError
from ...engine.store import Store
from ..output.screen import PLAIN, Screen
from . import facts, trace
from .tables import as_json, as_text, physical

if TYPE_CHECKING:
    from .tables import Part

FORMATS = ("table", "markdown", "json")


def of_model(
    store: Store, model: str | os.PathLike[str], format: str, screen: Screen = PLAIN, **given: Unpack[Workload]
) -> str:
    """Return the modelled cost of a model's forward pass, and how close the measured times are to it.

    Args:
        store: the lake.
        model: a name, or the path of a config.json.
        format: table, markdown or json.
        screen: the terminal that a table goes to.
        given: what was measured.

    Raises:
        UsageError: a name is unknown, or a time or a value is invalid.
        InputError: a file cannot be read.
    """
    check_format(format)
    with measured(store, model, **given) as scenario:
        found = facts.facts(store, scenario)
    return rendered(found, physical(found), format, screen)


def of_trace(store: Store, trace_id: str, pass_id: SupportsIndex | None, format: str, screen: Screen = PLAIN) -> str:
    """Return the share of its chip's peak that a trace reaches, from its own kernels: one pass, or all.

    Raises:
        UsageError: the format is unknown, or the trace has no such pass.
    """
    check_format(format)
    found = trace.facts(store, trace_id, None if pass_id is None else find_one_pass(store, trace_id, pass_id))
    return rendered(found, trace.report(found), format, screen)


def rendered(found: dict[str, Any], parts: list[Part], format: str, screen: Screen = PLAIN) -> str:
    """Return a document as JSON, or its parts as text."""
    return as_json(found) if format == "json" else as_text(parts, format, screen)


def check_format(format: str) -> None:
    """Check the format of a report.

    Raises:
        UsageError: it is unknown.
    """
    if format not in FORMATS:
        raise UsageError(f"format={format}: unknown. Known: {', '.join(FORMATS)}.")
