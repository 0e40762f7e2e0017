"""Which stored relations depend on a setting of a trace."""

from __future__ import annotations

import functools
import re

from . import module_files, modules

#: The relations that turn settings into columns of `traces`, and columns that depend on a setting of another name.
_SHOW = frozenset({"_settings", "_trace_settings", "_configs", "_recorded", "traces"})
_ALSO = {
    "rank": ("rank_source",),
    "hardware": ("hardware_match", "vendor"),
    "profile": ("profile_source",),
    "config": ("num_layers", "profile", "profile_source"),
    "recorded_at": ("recorded_at_source",),
    "run": ("recorded_at", "recorded_at_source"),
    "trace": ("recorded_at", "recorded_at_source"),
}
_WORD = re.compile(r"[a-z_][a-z0-9_]*")
_READ = re.compile(rf"\b(?:FROM|JOIN)\s+({'|'.join(sorted(_SHOW))})\b(?:\s+AS\s+([a-z_]+))?")
_STAR = re.compile(r"(?:\bSELECT|\bDISTINCT|,)\s*(?:([a-z_]+)\.)?\*|\bCOLUMNS\(")


@functools.cache
def reached(setting: str) -> frozenset[str]:
    """Return the stored relations whose rows may depend on a setting.

    A relation that reads settings depends on those whose columns it names; one that selects all columns depends on all.
    """
    columns = {setting, *_ALSO.get(setting, ())}

    def reads(entry: modules.Module) -> bool:
        if entry.name in _SHOW or not entry.uses & _SHOW:
            return False
        code = module_files.code(entry.sql)
        return not columns.isdisjoint(_WORD.findall(code)) or _takes_all(code)

    readers = {entry.name for entry in modules.relations() if reads(entry)}
    return frozenset(name for name in modules.stored() if readers & modules.sources(name))


def _takes_all(code: str) -> bool:
    """Whether a SELECT takes all columns of a relation with settings."""
    for star in _STAR.finditer(code):
        for relation, name in _READ.findall(_rest_of_select(code[star.end() :])):
            if star.group(1) in (None, name or relation):
                return True
    return False


def _rest_of_select(code: str) -> str:
    """Return the text up to the parenthesis that ends the enclosing SELECT, without nested parentheses."""
    kept, depth = [], 0
    for part in re.split(r"([()])", code):
        depth += (part == "(") - (part == ")")
        if depth < 0:
            break
        if depth == 0:
            kept.append(part)
    return "".join(kept)
