"""What a lake answers as other tools do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from ...analysis.mfu import check_format, times_of
from ...analysis.timings import checked_time
from ...engine.errors import UsageError
from ...engine.modules import quoted

if TYPE_CHECKING:
    import duckdb

    from ...analysis.models import Models

Mode = Literal["exclusive_per_track", "exclusive_global"]


class Compat:
    """The replicas of other tools' answers; `Lake.compat` is one.

    Passes, layers and their plan are the reference analyser's. It is told an anchor, which is a text that the anchor
    kernel's name contains, the layers of the model, and the anchors in one layer; by the trace's settings where None.
    """

    def __init__(self, lake: Models) -> None:
        """Answer from this lake."""
        self._lake = lake

    def plan(
        self, trace: str, anchor: str | None = None, num_layers: int | None = None, blocks_per_layer: int | None = None
    ) -> duckdb.DuckDBPyRelation:
        """Return how the reference analyser counts: its anchor, layers, anchors found, and passes."""
        columns = "anchor, num_layers, anchor_count, pass_count"
        return self._counted("_compat_plan", trace, anchor, num_layers, blocks_per_layer, columns=columns)

    def passes(
        self, trace: str, anchor: str | None = None, num_layers: int | None = None, blocks_per_layer: int | None = None
    ) -> duckdb.DuckDBPyRelation:
        """Return the passes as the reference analyser counts them: to see where it errs, `Lake.passes` is right."""
        return self._counted("compat_passes", trace, anchor, num_layers, blocks_per_layer, order="pass_id")

    def layers(
        self,
        trace: str,
        anchor: str | None = None,
        num_layers: int | None = None,
        blocks_per_layer: int | None = None,
        pass_id: int | Literal["all"] = "all",
    ) -> duckdb.DuckDBPyRelation:
        """Return the layers of a pass, or of every pass, as the reference analyser counts them."""
        condition = "true" if pass_id == "all" else f"pass_id = {int(pass_id)}"
        return self._counted(
            "compat_layers", trace, anchor, num_layers, blocks_per_layer,
            condition=condition, order="pass_id, layer_id",
        )  # fmt: skip

    def summary(
        self,
        trace: str,
        format: str = "json",
        *,
        top: int = 10,
        warmup_steps: int = 5,
        hot_op_limit: int = 25,
        breakdown_mode: Mode = "exclusive_per_track",
    ) -> str:
        """Return the summary as the reference's tool makes it: `profile_summary.v1`.

        Args:
            trace: the trace, of JAX.
            format: json, or md for its report.
            top: rows of a table of the report.
            warmup_steps: steps with a smaller number are left out of the steady ones.
            hot_op_limit: operations in its list, from which it also makes the families.
            breakdown_mode: how it sums up time.

        Raises:
            UsageError: the format is neither.
        """
        from .summary import as_json, as_markdown, build

        if format not in ("md", "json"):
            raise UsageError(f"format={format}: a summary is Markdown (md) or JSON (json).")
        found = build(self._lake, self._lake.locate(trace), warmup_steps, hot_op_limit, breakdown_mode)
        return as_json(found) if format == "json" else as_markdown(found, top)

    def mfu(
        self,
        model: str,
        *,
        gpu: str = "h20",
        batch: int = 1,
        seq_len: int = 1,
        tp: int = 8,
        dp: int = 1,
        ep: int = 8,
        dtype: str = "bf16",
        measured_ms: float | None = None,
        per_layer_ms: float | None = None,
        kernel_ms: str | Mapping[str, Any] | None = None,
        kernel_detail: str | Mapping[str, Any] | None = None,
        kernel_flow: str | Mapping[str, Any] | None = None,
        format: str = "table",
    ) -> str:
        """Return what the reference's compute simulator answers.

        Arguments are those of `Lake.mfu`, with the simulator's own models, GPUs and defaults.

        Raises:
            UsageError: it knows no such model, or a time or a value is invalid.
            InputError: a file cannot be read.
        """
        from ..mfu.tables import as_json, as_text
        from .mfu import facts, report

        check_format(format)
        times = times_of(kernel_ms, kernel_detail, kernel_flow)
        asked = {
            "model": model, "batch": batch, "seq_len": seq_len, "tp": tp, "dp": dp, "ep": ep, "gpu": gpu,
            "dtype": dtype, "measured_ms": checked_time("--measured-ms", measured_ms),
            "per_layer_ms": checked_time("--per-layer-ms", per_layer_ms),
        }  # fmt: skip
        connection = self._lake.prepare("compat_requests timing_metadata category_timings kernel_timings")
        found = facts(self._lake, connection, asked, times)
        return as_json(found) if format == "json" else as_text(report(found), format)

    def _counted(
        self, relation: str, trace: str, anchor: str | None, *counts: int | None,
        columns: str = "*", condition: str = "true", order: str = "ALL",
    ) -> duckdb.DuckDBPyRelation:  # fmt: skip
        said = ["NULL" if anchor is None else quoted(anchor)]
        said += ["NULL" if count is None else str(int(count)) for count in counts]
        call = f"{relation}({quoted(self._lake.locate(trace))}, {', '.join(said)})"
        return self._lake.sql(f"SELECT {columns} FROM {call} WHERE {condition} ORDER BY {order}")
