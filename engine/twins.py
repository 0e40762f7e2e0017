"""The relations of models a second time: over the passes of traces instead of over the scenarios given.

What a scenario costs and what a pass of a trace should cost follow from one set of relations, which rest on no trace.
In the schema `of_passes` each of them is there again, made by the same SQL, with `_pass_scenarios` and `_trace_configs`
of the folder `match` in the place of what was given: `operators` has the operators of scenarios, `of_passes.operators`
those of passes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .modules import Module

SCHEMA = "of_passes"
#: What was given, and what is in its place.
_PLACES = {"_scenario_rows": "_pass_scenarios", "_known_configs": "_trace_configs"}
_READ = re.compile(r"\b(CREATE VIEW|FROM|JOIN)(\s+)([a-z_][a-z0-9_]*)\b(?!\s*\()")


def twins(modules: Mapping[str, Module]) -> Iterable[Module]:
    """Return the second of each relation that rests on what was given; its name begins with the schema."""
    resting = _resting(modules)
    names = {name: f"{SCHEMA}.{name}" for name in resting} | _PLACES
    for name in sorted(resting):
        entry = modules[name]
        sql = _READ.sub(lambda found: found[1] + found[2] + names.get(found[3], found[3]), entry.sql)
        uses = frozenset(names.get(used, used) for used in entry.uses)
        yield replace(entry, name=names[name], sql=sql, uses=uses, is_twin=True)


def named_in(words: set[str]) -> set[str]:
    """Return the relations of the schema that a query of these words may name."""
    return {f"{SCHEMA}.{word}" for word in words} if SCHEMA in words else set()


def _resting(modules: Mapping[str, Module]) -> set[str]:
    """Return the views that rest on what was given, by way of views alone."""
    found = set(_PLACES)
    while True:
        above = {name for name, entry in modules.items() if entry.kind == "VIEW" and entry.uses & found} - found
        if not above:
            return found - set(_PLACES)
        found |= above
