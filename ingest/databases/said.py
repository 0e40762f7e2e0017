"""Interprets the texts of rows with one query per distinct text instead of per row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..credentials import holds_any, literals
from ..lanes import LaneWriter
from .parts import TEXTS, Part

if TYPE_CHECKING:
    import pyarrow as pa

#: Maximum number of cached texts per query; all of them are part of the input of each batch.
_MOST_TEXTS = 10_000


class Said:
    """The cached results of one writer's batches."""

    def __init__(self) -> None:
        """Start with an empty cache."""
        #: By query: `text`, and the result columns.
        self._known: dict[str, pa.Table] = {}

    def added(self, writer: LaneWriter, part: Part, rows: pa.Table) -> tuple[pa.Table, bool]:
        """Return rows with the results in place of the texts, and whether any text holds a credential."""
        import pyarrow as pa

        suspect = any(
            _is_suspect(rows.column(name)) for name in rows.column_names if name not in (*part.digits, *part.said)
        )
        for column, question in part.said.items():
            encoded = _encoded(rows.column(column))
            suspect = suspect or _is_suspect(encoded.dictionary)
            answers, places = self._answers(writer, question, encoded.dictionary)
            rows = rows.drop_columns([column])
            indices = places.take(encoded.indices)
            for name, values in zip(answers.column_names, answers.columns, strict=True):
                if name != "text":
                    some = values.null_count < len(values)
                    one = pa.DictionaryArray.from_arrays(indices, values.chunk(0)) if some else pa.nulls(rows.num_rows)
                    rows = rows.append_column(name, one)
        return rows, suspect

    def _answers(self, writer: LaneWriter, question: str, texts: pa.Array) -> tuple[pa.Table, pa.Array]:
        """Return the cached results, including those for some texts, and the position of each text in them."""
        import numpy as np
        import pyarrow as pa
        import pyarrow.compute as pc

        known = self._known.get(question)
        if known is None or known.num_rows > _MOST_TEXTS:
            known, unknown = None, texts
        else:
            unknown = texts.filter(pc.index_in(texts, known["text"]).is_null())
        if known is None or len(unknown):
            with writer.given(TEXTS, pa.table({"nth": np.arange(len(unknown)), "text": unknown})):
                found = writer.table(f"SELECT * EXCLUDE (nth) FROM ({question}) ORDER BY nth")
            found = found.append_column("text", unknown)
            known = (pa.concat_tables([known, found]) if known else found).combine_chunks()
            self._known[question] = known
        return known, pc.index_in(texts, known["text"])


def _encoded(column: pa.ChunkedArray) -> pa.DictionaryArray:
    import pyarrow as pa

    if not pa.types.is_dictionary(column.type):
        column = column.cast(pa.string()).dictionary_encode()
    return column.unify_dictionaries().combine_chunks()


def _is_suspect(texts: pa.Array | pa.ChunkedArray) -> bool:
    """Whether a text holds a credential; numbers do not."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(texts.type):
        return _is_suspect(_encoded(texts).dictionary)
    if texts.type not in (pa.string(), pa.string_view()):
        return False
    texts = texts.cast(pa.string())
    found = texts.filter(pc.match_substring_regex(texts, literals()))
    return any(holds_any(text) for text in found.to_pylist() if text)
