"""Copies of relations in a separate schema, where some of the relations they depend on are replaced.

The cost of a scenario and the modelled cost of a pass come from one set of relations, which depend on no trace.
The schema `of_passes` has a copy of each, created by the same SQL, with `_pass_scenarios` and `_trace_configs`
of the folder `match` in place of the given scenarios: `operators` has the operators of scenarios, `of_passes.operators`
those of passes. A file's header names the relation it replaces: `-- instead of: of_passes._scenario_rows`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .modules import Module

_READ = re.compile(r"\b(CREATE VIEW|CREATE MACRO|FROM|JOIN)(\s+)([a-z_][a-z0-9_]*)\b(?!\.)")


def twins(modules: Mapping[str, Module]) -> Iterable[Module]:
    """Return, for each schema, the replacements and the relations that depend on them; names start with the schema."""
    places: dict[str, dict[str, Module]] = defaultdict(dict)
    for entry in modules.values():
        if entry.instead_of:
            schema, _, name = entry.instead_of.partition(".")
            places[schema][name] = entry
    for schema, taken in places.items():
        resting = _resting(modules, set(taken)) - {entry.name for entry in taken.values()}
        names = {name: f"{schema}.{name}" for name in (*taken, *resting)}
        for name, entry in taken.items():
            yield replace(
                entry, name=names[name], sql=f"CREATE VIEW {names[name]} AS\nSELECT * FROM {entry.name};\n",
                uses=frozenset([entry.name]), kept="", instead_of="", is_twin=True,
            )  # fmt: skip
        for name in sorted(resting):
            entry = modules[name]
            uses = frozenset(names.get(used, used) for used in entry.uses)
            yield replace(entry, name=names[name], sql=_renamed(entry.sql, names), uses=uses, is_twin=True)


def _renamed(sql: str, names: Mapping[str, str]) -> str:
    return _READ.sub(lambda found: found[1] + found[2] + names.get(found[3], found[3]), sql)


def _resting(modules: Mapping[str, Module], places: set[str]) -> set[str]:
    """Return the views and macros that depend on places through views only; none that names a schema itself."""
    found = set(places)
    plain = {name: entry for name, entry in modules.items() if not any("." in used for used in entry.uses)}
    while True:
        above = {name for name, entry in plain.items() if entry.kind != "TABLE" and entry.uses & found} - found
        if not above:
            return found - places
        found |= above
