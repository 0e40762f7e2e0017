"""Payloads of NVTX ranges, attached by libraries such as NCCL: numbers, by the schemas described in the export.

A payload is a header of 32 bytes (domain, flags, schema, flags, size of the payload, size of all) and the schema's
entries at their offsets, little-endian.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .tables import Tables

_HEADER = struct.Struct("<IIIIQQ")
#: Formats of entries by their type (nvtxToolsExtPayload.h); other types, such as texts, are not read.
_FORMATS = {
    1: "b", 2: "B", 3: "h", 4: "i", 5: "I", 6: "q", 7: "Q", 8: "q", 9: "Q",
    11: "b", 12: "B", 13: "h", 14: "H", 15: "i", 16: "I", 17: "q", 18: "Q", 19: "f", 20: "d", 22: "Q",
}  # fmt: skip
#: From here on types are enumerations and structures registered by the program; those of 4 bytes are read as numbers.
_REGISTERED = 1 << 24


@dataclass(frozen=True)
class _Entry:
    name: str
    offset: int
    format: struct.Struct


def payload_schemas(tables: Tables) -> dict[tuple[int, int], list[_Entry]]:
    """Return the entries of each schema, by domain and schema."""
    schemas: dict[tuple[int, int], list[_Entry]] = {}
    columns = ("domainId", "schemaId", "idx", "type", "name", "offset")
    # Several processes may describe the same schema.
    for domain, schema, _, kind, name, offset in sorted(
        set(tables.rows("NVTX_PAYLOAD_SCHEMA_ENTRIES", columns)),
        key=lambda row: [(one is None, one) for one in row[:3]],
    ):
        letter = "i" if isinstance(kind, int) and kind >= _REGISTERED else _FORMATS.get(kind)
        if letter and name and domain is not None and schema is not None:
            schemas.setdefault((domain, schema), []).append(_Entry(str(name), offset or 0, struct.Struct(f"<{letter}")))
    return schemas


def decode(data: bytes, schemas: Mapping[tuple[int, int], Sequence[_Entry]]) -> dict[str, int | float]:
    """Return the numbers of a payload by name; empty if its schema is unknown, or the payload is truncated."""
    if len(data) < _HEADER.size:
        return {}
    domain, _, schema, *_ = _HEADER.unpack_from(data)
    return {
        entry.name: entry.format.unpack_from(data, _HEADER.size + entry.offset)[0]
        for entry in schemas.get((domain, schema), ())
        if 0 <= entry.offset <= len(data) - _HEADER.size - entry.format.size
    }


def to_json(numbers: Mapping[str, int | float]) -> str | None:
    """Return numbers as the members of a JSON object, without its braces; None if there are none."""
    return json.dumps(numbers, ensure_ascii=False)[1:-1] or None
