"""Documentation of rows and columns as database comments."""

from __future__ import annotations

from . import modules


def statements(entry: modules.Module, relation: str, kind: str | None = None) -> str:
    """Return the COMMENT ON statements for a module's relation, or for the table or view (`kind`) in its place."""
    if entry.kind == "MACRO":
        return ""
    kind = kind or entry.kind
    lines = [f"COMMENT ON {kind} {relation} IS {modules.quoted(entry.doc)};"]
    lines += [
        f"COMMENT ON COLUMN {relation}.{column.name} IS {modules.quoted(column.text)};" for column in entry.columns
    ]
    return "\n".join(lines)
