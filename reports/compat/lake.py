"""Answers of a lake in the form of other tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from ...analysis.compat import passes
from . import mfu, summary

if TYPE_CHECKING:
    import duckdb

    from ...engine.store import Store


class Compat:
    """The replicas of other tools' answers; `Lake.compat` is one.

    Passes, layers and their plan are the reference analyser's. Its inputs are an anchor, a text that the anchor
    kernel's name contains, the layers of the model, and the anchors in one layer; None: from the trace's settings.
    """

    def __init__(self, store: Store) -> None:
        """Answer from this lake."""
        self._store = store

    def plan(
        self, trace: str, anchor: str | None = None, num_layers: int | None = None, blocks_per_layer: int | None = None
    ) -> duckdb.DuckDBPyRelation:
        """Return how the reference analyser counts: its anchor, layers, anchors found, and passes."""
        return passes.plan(self._store, trace, (anchor, num_layers, blocks_per_layer))

    def passes(
        self, trace: str, anchor: str | None = None, num_layers: int | None = None, blocks_per_layer: int | None = None
    ) -> duckdb.DuckDBPyRelation:
        """Return the passes as the reference analyser counts them, to show its errors; `Lake.passes` is right."""
        return passes.passes(self._store, trace, (anchor, num_layers, blocks_per_layer))

    def layers(
        self,
        trace: str,
        anchor: str | None = None,
        num_layers: int | None = None,
        blocks_per_layer: int | None = None,
        pass_id: int | Literal["all"] = "all",
    ) -> duckdb.DuckDBPyRelation:
        """Return the layers of a pass, or of every pass, as the reference analyser counts them."""
        return passes.layers(self._store, trace, (anchor, num_layers, blocks_per_layer), pass_id)

    def summary(self, trace: str, format: str = "json", **given: Any) -> str:
        """Return the summary in the format of the reference's tool: `profile_summary.v1`, json or md."""
        return summary.summary(self._store, trace, format, **given)

    def mfu(self, model: str, *, format: str = "table", **given: Any) -> str:
        """Return the answer of the reference's compute simulator."""
        return mfu.of_model(self._store, model, format, **given)
