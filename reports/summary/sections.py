"""The sections of a profile summary: the query of each, and the whole that its shares are of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Section:
    """A list of rows.

    Attributes:
        key: name in the object.
        title: heading on the page, empty if the section continues the previous one.
        subtitle: heading of the table.
        basis: the units and the basis of its figures.
        query: SQL with the trace as $1; its columns are the rows' keys.
        v1: keys in the published JSON for columns with other names.
        nothing: the page's text if there are no rows.
        whole: the page shows all rows.
        left_out: a Boolean column that marks rows to omit on the page, together with the column.
        is_text: the page shows findings instead of a table.
    """

    key: str
    title: str
    basis: str
    query: str
    nothing: str
    subtitle: str = ""
    whole: bool = False
    left_out: str = ""
    is_text: bool = False
    v1: Mapping[str, str] = field(default_factory=dict)


_SUM = {"sum_us": "total_us"}
_WORK = {"flop": "flops", "flop_source": "flops_source", "tflops": "achieved_tflops"}

SECTIONS = (
    Section(
        "step_time", "Step Time (Steady State)",
        "Times in µs, {steps}; steady steps are neither warm-up nor cut off. Jitter: p90 by median; outliers: steps "
        "over 1.5 times the steady median.",
        """
        SELECT
            scope, step_source, program, steps, mean_us, median_us, p90_us, min_us, max_us, jitter, outliers
        FROM step_summary WHERE trace_id = $1 ORDER BY scope DESC, is_main DESC, program
        """,
        "No steps are marked in the trace.", whole=True,
    ),
    Section(
        "step_classes", "Step Classes", "Times in µs; the share is of the steady steps.",
        """
        SELECT
            program, step_class, steps, steps_pct, mean_us, median_us, p90_us, min_us, max_us, representative_step,
            representative_us, period
        FROM step_classes WHERE trace_id = $1 ORDER BY program, step_class DESC
        """,
        "Steady steps are of one kind, or too few to tell.", whole=True,
    ),
    Section(
        "time_breakdown", "Time Breakdown",
        "Times in µs, summed over devices; shares of {whole}, which the parts make up exactly. Beside them the device "
        "with the smallest and the one with the largest share of its own window.",
        """
        SELECT part, sum_us, share_pct, least_pct, most_pct
        FROM _summary_parts WHERE trace_id = $1 ORDER BY place
        """,
        "No device operation that takes time.", whole=True, v1=_SUM,
    ),
    Section(
        "regions", "Hierarchical Regions",
        "Times in µs, summed over devices, of what the region launched; busy is the time with any of it running, the "
        "others are sums without operations inside. host: in calls of the region, which is another time. Shares of "
        "all own times, of which regions of depth 1 make up 100 %.",
        """
        SELECT
            path, phase, depth, calls, inclusive_us, inclusive_pct, exclusive_us, exclusive_pct, busy_us, host_us,
            is_unary_chain
        FROM _summary_regions WHERE trace_id = $1 ORDER BY inclusive_us DESC, exclusive_us DESC, path, phase
        """,
        "The trace names no regions.", left_out="is_unary_chain",
    ),
    Section(
        "ops", "Top Ops",
        "Times in µs, summed over devices; self: without operations inside. Shares of {whole}; of all own times, where "
        "streams run side by side and these are more.",
        """
        SELECT
            op, program, class, family, calls, self_us, share_pct, mean_us, flop, flop_source, tflops, shape,
            path
        FROM _summary_ops WHERE trace_id = $1 ORDER BY self_us DESC, op
        """,
        "No device operations.", v1=_WORK,
    ),
    Section(
        "op_families", "Semantic Families",
        "Times in µs, summed over devices, without operations inside; shares of all own times, which the families make "
        "up exactly. Rates in TFLOP/s of the calls whose FLOP are known.",
        """
        SELECT
            family, calls, self_us, share_pct, mean_us, flop, flop_source, tflops, example, example_shape
        FROM _summary_families WHERE trace_id = $1 ORDER BY self_us DESC, family
        """,
        "No device operations.", v1=_WORK,
    ),
    Section(
        "collectives", "Communication Collectives",
        "Times in µs, summed over devices; exposed: the device only communicates, hidden: it computes; shares of "
        "{whole}. Bandwidths in GB/s over the time on the device, waiting included.",
        """
        SELECT
            kind, program, process_group, group_size, calls, sum_us, mean_us, exposed_us, hidden_us, exposed_pct,
            mean_bytes, algorithm_gbps, bus_gbps
        FROM _summary_collectives WHERE trace_id = $1 ORDER BY exposed_us DESC, sum_us DESC, kind
        """,
        "No collectives.", v1=_SUM | {"mean_us": "avg_us", "mean_bytes": "avg_bytes"},
    ),
    Section(
        "collective_calls", "", "Times in µs, means over the calls that the lake has from several devices.",
        """
        SELECT
            kind, matched_by, participants, calls, skew_us, max_skew_us, transfer_us, bus_gbps, clock_residual_us
        FROM _summary_calls
        WHERE run = (SELECT coalesce(run, trace_id) FROM traces WHERE trace_id = $1)
        ORDER BY total_skew_us DESC
        """,
        "", subtitle="Across devices: how far apart they come, and how long it takes once all are there",
    ),
    Section(
        "stragglers", "", "Times in µs, summed over the calls; expected: the share if all came last equally often.",
        """
        SELECT
            trace, rank, device, calls, last_calls, last_pct, expected_pct, mean_late_us, caused_us, waiting_us,
            clock_residual_us
        FROM _summary_stragglers
        WHERE run = (SELECT coalesce(run, trace_id) FROM traces WHERE trace_id = $1)
        ORDER BY caused_us DESC, trace, device
        """,
        "", subtitle="Who comes last", v1={"waiting_us": "waited_us"},
    ),
    Section(
        "gaps", "Pre-Op Gaps",
        "Times in µs, summed over devices: time in which nothing ran before the operation; shares of {whole}.",
        """
        SELECT
            payload_name, marker_name, gaps, devices, sum_us, window_pct AS share_pct, mean_us, max_us, between_us,
            host_bound_us
        FROM gap_payloads WHERE trace_id = $1 ORDER BY sum_us DESC, max_us DESC, payload_name
        """,
        "No gaps.", v1=_SUM,
    ),
    Section(
        "idle_causes", "", "Times in µs, summed over devices; shares of {whole}.",
        """
        SELECT cause, host_activity, intervals, idle_us, share_pct, advice
        FROM _summary_idle WHERE trace_id = $1 ORDER BY idle_us DESC, cause, host_activity
        """,
        "", subtitle="What the devices waited for, and what the host did meanwhile",
    ),
    Section(
        "gap_regions", "Gap Context (Region-First)",
        "Times in µs, summed over devices; shares of {whole}.",
        """
        SELECT region, phase, gaps, sum_us, mean_us, share_pct, payloads
        FROM _summary_gap_regions WHERE trace_id = $1 ORDER BY sum_us DESC, region, phase
        """,
        "No gaps.", v1=_SUM,
    ),
    Section(
        "findings", "Optimization Candidates", "Shares as each finding states; gains are upper bounds and may overlap.",
        """
        SELECT
            finding, severity, title, value, threshold, unit, basis, gain_us, gain_pct, evidence, query, suggestions
        FROM findings WHERE trace_id = $1 ORDER BY priority
        """,
        "None.", is_text=True,
    ),
)  # fmt: skip
