"""The star schema that `export --star` writes: its tables, their keys, and the statements that create them.

The relations are those of `sql/star`. A column whose name ends with another table's key is a foreign key:
`marker_kernel_name_key` to `kernel_name_key` of `dim_kernel_name`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ...engine.sql import modules

#: The folder of its relations.
STAR = "star"


def tables() -> list[modules.Module]:
    """Return the tables of the star, each after those it refers to."""
    return [entry for entry in modules.modules() if entry.folder == STAR and entry.public]


def key(entry: modules.Module) -> str:
    """Return the key column of a table."""
    [column] = entry.key
    return column


def references(entry: modules.Module) -> dict[str, modules.Module]:
    """Return the foreign key columns of a table, with the tables they refer to."""
    return {
        column.name: other
        for column in entry.columns
        for other in tables()
        if other.name != entry.name and column.name.endswith(key(other))
    }


def columns(entry: modules.Module, types: Callable[[str], str] = str) -> list[str]:
    """Return the column definitions of a table: name and type, with NOT NULL for keys."""
    keys = {key(entry), *references(entry)}
    return [
        f'"{column.name}" {types(column.type)}{" NOT NULL" if column.name in keys else ""}' for column in entry.columns
    ]


def described(entry: modules.Module) -> Mapping[str, str]:
    """Return its keys as text, for files, which have no constraints."""
    refers = "; ".join(f"{column} -> {other.name}.{key(other)}" for column, other in references(entry).items())
    return {"primary_key": key(entry)} | ({"foreign_keys": refers} if refers else {})
