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
    "run": ("recorded_at", "recorded_at_source"),
}
_WORD = re.compile(r"[a-z_][a-z0-9_]*")


@functools.cache
def reached(setting: str) -> frozenset[str]:
    """Return the stored relations whose rows may depend on a setting.

    A relation that reads settings depends on those whose columns it names: a test checks that none selects all columns.
    """
    columns = {setting, *_ALSO.get(setting, ())}

    def reads(entry: modules.Module) -> bool:
        if entry.name in _SHOW or not entry.uses & _SHOW:
            return False
        return not columns.isdisjoint(_WORD.findall(module_files.code(entry.sql)))

    readers = {entry.name for entry in modules.relations() if reads(entry)}
    return frozenset(name for name in modules.stored() if readers & modules.sources(name))
