"""The sections of a profile summary: what each asks, and the whole that its shares are of."""

from __future__ import annotations

from dataclasses import dataclass

#: All own times.
_OWN = """
own AS (
    SELECT nullif(sum(self_us), 0) AS own_us FROM ops WHERE trace_id = $1 AND role = 'op'
)
"""
#: The time of all devices; all own times, where these are more.
_WHOLE = """
whole AS (
    SELECT greatest(
        (SELECT sum(window_us) FROM time_breakdown WHERE trace_id = $1),
        (SELECT sum(self_us) FROM ops WHERE trace_id = $1 AND role = 'op')
    ) AS whole_us
)
"""
#: Where the FLOPs of several rows are from.
_SOURCE = """CASE
    WHEN count(DISTINCT flops_source) FILTER (flops_source <> 'none') > 1 THEN 'both'
    ELSE coalesce(max(flops_source) FILTER (flops_source <> 'none'), 'none')
END"""


@dataclass(frozen=True)
class Section:
    """A list of rows.

    Attributes:
        key: name in the object.
        title: heading of the page, empty where the section stands below the one before.
        subtitle: heading of the table.
        basis: what its figures are measured in and shares of.
        query: SQL with the trace as $1; its columns are the rows' keys.
        nothing: what the page says when there are no rows.
        whole: the page shows all rows.
        left_out: a column that marks rows the page leaves out; the column is left out as well.
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


SECTIONS = (
    Section(
        "step_time", "Step Time (Steady State)",
        "Times in µs, on the slowest device in each step, of the work launched from it; steady steps are neither "
        "warm-up nor cut off. Jitter: p90 by median; outliers: steps over 1.5 times the steady median.",
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
        WITH parts AS (
            SELECT device, window_us, unnest([
                {'place': 1, 'part': 'compute', 'us': compute_us},
                {'place': 2, 'part': 'exposed communication', 'us': exposed_communication_us},
                {'place': 3, 'part': 'exposed memory', 'us': exposed_memory_us},
                {'place': 4, 'part': 'wait', 'us': wait_us},
                {'place': 5, 'part': 'idle for want of launches', 'us': host_bound_idle_us},
                {'place': 6, 'part': 'other idle', 'us': coalesce(other_idle_us, idle_us - wait_us)}
            ], recursive := true)
            FROM time_breakdown WHERE trace_id = $1
        )
        -- Where launches are not shown, nobody knows what idleness is the host's.
        SELECT
            part, sum(us) AS total_us, 100 * sum(us) / nullif(sum(window_us), 0) AS share_pct,
            min(100 * us / nullif(window_us, 0)) AS least_pct, max(100 * us / nullif(window_us, 0)) AS most_pct
        FROM parts WHERE us IS NOT NULL GROUP BY place, part ORDER BY place
        """,
        "No device operation that takes time.", whole=True,
    ),
    Section(
        "regions", "Hierarchical Regions",
        "Times in µs, summed over devices, of what the region launched; busy is the time with any of it running, the "
        "others are sums without operations inside. host: in calls of the region, which is another time. Shares of "
        "all own times, of which regions of depth 1 make up 100 %.",
        f"""
        WITH {_OWN}
        SELECT
            path, phase, depth, sum(calls) AS calls, sum(inclusive_us) AS inclusive_us,
            100 * sum(inclusive_us) / any_value(own_us) AS inclusive_pct, sum(exclusive_us) AS exclusive_us,
            100 * sum(exclusive_us) / any_value(own_us) AS exclusive_pct, sum(busy_us) AS busy_us,
            max(host_us) AS host_us, bool_and(is_unary_chain) AS is_unary_chain
        FROM regions CROSS JOIN own WHERE trace_id = $1
        GROUP BY path, phase, depth ORDER BY inclusive_us DESC, exclusive_us DESC, path, phase
        """,
        "The trace names no regions.", left_out="is_unary_chain",
    ),
    Section(
        "ops", "Top Ops",
        "Times in µs, summed over devices; self: without operations inside. Shares of {whole}; of all own times, where "
        "streams run side by side and these are more.",
        f"""
        WITH {_WHOLE}, named AS (
            SELECT
                program, class, family, calls, total_us, self_us, shape, path, flops, flops_source, achieved_tflops,
                -- Instances are one operation where the trace says so, not because they are numbered alike.
                CASE
                    WHEN hlo_category IS NULL AND regexp_replace(ltrim(name, '%'), '\\.\\d+$', '') = canonical_name
                    THEN name ELSE dedup_name
                END AS op
            FROM ops WHERE trace_id = $1 AND role = 'op'
        )
        SELECT
            op, program, any_value(class) AS class, any_value(family) AS family, CAST(sum(calls) AS BIGINT) AS calls,
            sum(self_us) AS self_us, 100 * sum(self_us) / any_value(whole_us) AS share_pct,
            sum(total_us) / sum(calls) AS mean_us, CAST(sum(flops) AS DOUBLE) AS flops, {_SOURCE} AS flops_source,
            sum(achieved_tflops * self_us) / nullif(sum(self_us) FILTER (achieved_tflops IS NOT NULL), 0)
                AS achieved_tflops,
            arg_max(shape, self_us) AS shape, arg_max(path, self_us) AS path
        FROM named CROSS JOIN whole
        GROUP BY op, program ORDER BY self_us DESC, op
        """,
        "No device operations.",
    ),
    Section(
        "op_families", "Semantic Families",
        "Times in µs, summed over devices, without operations inside; shares of all own times, which the families make "
        "up exactly. Rates in TFLOP/s and GB/s of the calls whose work is known.",
        f"""
        WITH {_OWN}
        SELECT
            family, sum(calls) AS calls, sum(self_us) AS self_us, 100 * sum(self_us) / any_value(own_us) AS share_pct,
            sum(self_us) / sum(calls) AS mean_us, sum(flops) AS flops, {_SOURCE} AS flops_source,
            sum(achieved_tflops * self_us * flops_known_pct) / nullif(sum(self_us * flops_known_pct), 0)
                AS achieved_tflops,
            arg_max(example, self_us) AS example, arg_max(example_shape, self_us) AS example_shape
        FROM op_families CROSS JOIN own WHERE trace_id = $1
        GROUP BY family ORDER BY self_us DESC, family
        """,
        "No device operations.",
    ),
    Section(
        "collectives", "Communication Collectives",
        "Times in µs, summed over devices; exposed: the device only communicates, hidden: it computes; shares of "
        "{whole}. Bandwidths in GB/s over the time on the device, waiting included.",
        """
        SELECT
            kind, program, process_group, group_size, sum(calls) AS calls, sum(total_us) AS total_us,
            sum(total_us) / sum(calls) AS avg_us, sum(exposed_us) AS exposed_us, sum(hidden_us) AS hidden_us,
            100 * sum(exposed_us) / (SELECT nullif(sum(window_us), 0) FROM time_breakdown WHERE trace_id = $1)
                AS exposed_pct,
            sum(bytes) / nullif(sum(calls), 0) AS avg_bytes,
            sum(bytes) / nullif(sum(1000 * total_us) FILTER (algorithm_gbps IS NOT NULL), 0) AS algorithm_gbps,
            sum(bus_gbps * total_us) / nullif(sum(total_us) FILTER (bus_gbps IS NOT NULL), 0) AS bus_gbps
        FROM collective_kinds WHERE trace_id = $1
        GROUP BY kind, program, process_group, group_size ORDER BY exposed_us DESC, total_us DESC, kind
        """,
        "No collectives.",
    ),
    Section(
        "collective_calls", "", "Times in µs, means over the calls that the lake has from several devices.",
        """
        SELECT
            kind, matched_by, participants, count(*) AS calls, avg(skew_us) AS skew_us, max(skew_us) AS max_skew_us,
            avg(transfer_us) AS transfer_us, avg(bus_gbps) AS bus_gbps, max(clock_residual_us) AS clock_residual_us
        FROM collective_calls
        WHERE run = (SELECT coalesce(run, trace_id) FROM traces WHERE trace_id = $1)
        GROUP BY kind, matched_by, participants ORDER BY sum(skew_us) DESC
        """,
        "", subtitle="Across devices: how far apart they come, and how long it takes once all are there",
    ),
    Section(
        "stragglers", "", "Times in µs, summed over the calls; expected: the share if all came last equally often.",
        """
        SELECT
            trace, stragglers.rank, device, calls, last_calls, last_pct, expected_pct, mean_late_us, caused_us,
            waited_us, clock_residual_us
        FROM stragglers JOIN traces USING (trace_id)
        WHERE stragglers.run = (SELECT coalesce(run, trace_id) FROM traces WHERE trace_id = $1)
        ORDER BY caused_us DESC, trace, device
        """,
        "", subtitle="Who comes last",
    ),
    Section(
        "gaps", "Pre-Op Gaps",
        "Times in µs, summed over devices: time in which nothing ran before the operation; shares of {whole}.",
        """
        SELECT
            payload_name, marker_name, gaps, devices, total_us, window_pct AS share_pct, mean_us, max_us, between_us,
            host_bound_us
        FROM gap_payloads WHERE trace_id = $1 ORDER BY total_us DESC, max_us DESC, payload_name
        """,
        "No gaps.",
    ),
    Section(
        "idle_causes", "", "Times in µs, summed over devices; shares of {whole}.",
        """
        SELECT
            cause, host_activity, sum(intervals) AS intervals, sum(idle_us) AS idle_us,
            100 * sum(idle_us) / (SELECT nullif(sum(window_us), 0) FROM time_breakdown WHERE trace_id = $1)
                AS share_pct,
            any_value(advice) AS advice
        FROM idle_causes WHERE trace_id = $1
        GROUP BY cause, host_activity ORDER BY idle_us DESC, cause, host_activity
        """,
        "", subtitle="What the devices waited for, and what the host did meanwhile",
    ),
    Section(
        "gap_regions", "Gap Context (Region-First)",
        "Times in µs, summed over devices; shares of {whole}.",
        """
        SELECT
            region, sum(gaps) AS gaps, sum(total_us) AS total_us, sum(total_us) / sum(gaps) AS mean_us,
            sum(window_pct) AS share_pct, arg_max(payloads, total_us) AS payloads
        FROM gap_regions WHERE trace_id = $1 GROUP BY region ORDER BY total_us DESC, region
        """,
        "No gaps.",
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
