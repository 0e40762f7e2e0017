-- One row per trace with kernels and check of its layers. Were passes found, do they explain
-- every anchor, do they hold most of the work, does each layer end before the next one begins,
-- does each layer that chooses experts run them, do the layers of a compiled program hold as many
-- collectives each, and does a number of layers that was given agree with the marks of passes?
-- Layers that overlap the next one by more than a twentieth of their length may run concurrently.
-- If a quarter or more of the layers that choose experts run none, and the layers after these do,
-- two micro-batches take turns. A mark is sure if it happens once per pass: more attentions between
-- two of them than a pass has layers contradict that number, unless what is unusual among them is
-- at the ends of passes of that number alone.
--
-- key: trace_id, check
--
-- trace_id   VARCHAR  trace
-- check      VARCHAR  name of the check
-- severity   VARCHAR  as in check_rules if the value reaches the threshold, else ok
-- value      DOUBLE   what was measured
-- unit       VARCHAR  what the value counts, or percent
-- threshold  DOUBLE   lowest value at which the severity is not ok
-- message    VARCHAR  what was found, what it means and what to do
CREATE VIEW layer_checks AS
WITH devices AS (
    SELECT trace_id, device, max(remainder) AS remainder
    FROM passes
    GROUP BY trace_id, device
),
found AS (
    SELECT trace_id, sum(remainder) AS remainder
    FROM devices
    GROUP BY trace_id
),
covered AS (
    SELECT trace_id, 100 - 100 * sum(busy_us) FILTER (part = 'layers') / sum(busy_us) AS outside_pct
    FROM pass_coverage
    GROUP BY trace_id
),
overlapping AS (
    SELECT trace_id, count(*) FILTER (gap_after_us < -0.05 * wall_us) AS layer_count
    FROM layers
    GROUP BY trace_id
),
experts AS (
    SELECT
        trace_id, device, pass_id, layer_id,
        coalesce(sum(kernel_count) FILTER (category = 'moe_routing'), 0) > 0 AS chooses,
        coalesce(sum(kernel_count) FILTER (category = 'moe_gemm'), 0) > 0 AS runs
    FROM layer_categories
    WHERE category IN ('moe_routing', 'moe_gemm')
    GROUP BY trace_id, device, pass_id, layer_id
),
interleaved AS (
    SELECT trace_id, count(*) FILTER (NOT runs AND next_runs) AS layer_count
    FROM (
        SELECT
            trace_id, chooses, runs, coalesce(lead(runs) OVER (
                PARTITION BY trace_id, device ORDER BY pass_id, layer_id
            ), FALSE) AS next_runs
        FROM experts
    )
    WHERE chooses
    GROUP BY trace_id
    -- Passes may begin and end with layers that are cut short.
    HAVING 4 * count(*) FILTER (NOT runs AND next_runs) >= count(*)
),
marked AS (
    SELECT p.trace_id, max(r.num_layers) AS layer_count
    FROM (
        SELECT DISTINCT trace_id, device, num_layers
        FROM passes
        WHERE pass_source = 'anchor count'
    ) AS p
    JOIN _pass_rhythms AS r
        ON r.trace_id = p.trace_id AND r.device = p.device AND r.series = ''
        AND r.is_sure AND r.num_layers > p.num_layers
        -- Between two marks whole passes may run, each with an end of its own.
        AND NOT (r.num_layers % p.num_layers = 0 AND [
            n FOR n IN r.marked_beats IF n BETWEEN r.breaks[1] AND r.breaks[-1]
        ] = [
            n FOR n IN range(r.breaks[1], r.breaks[-1])
            IF (n - r.breaks[1]) % p.num_layers = 0 AND (n - r.breaks[1]) % r.num_layers <> 0
        ])
    GROUP BY p.trace_id
),
-- A compiler may run the collectives of a layer within the one before it, or those of all layers
-- within the first.
uneven AS (
    SELECT
        trace_id,
        100 * sum(greatest(comm_count - mean_count, 0)) / nullif(sum(comm_count), 0) AS moved_pct
    FROM (
        SELECT
            l.trace_id, l.comm_count,
            avg(l.comm_count) OVER (
                -- Layers with experts exchange more than others.
                PARTITION BY l.trace_id, l.device, l.pass_id, x.layer_id IS NULL
            ) AS mean_count
        FROM layers AS l
        JOIN passes AS p
            ON p.trace_id = l.trace_id AND p.device = l.device AND p.pass_id = l.pass_id
        LEFT JOIN experts AS x
            ON x.trace_id = l.trace_id AND x.device = l.device AND x.pass_id = l.pass_id
            AND x.layer_id = l.layer_id
        WHERE p.pass_source = 'program run' AND p.complete
    )
    GROUP BY trace_id
),
measures AS (
    SELECT
        trace_id,
        found.trace_id IS NULL AS no_passes,
        coalesce(remainder, 0) AS unexplained_anchors,
        -- Without passes no_passes reports it.
        CASE WHEN found.trace_id IS NULL THEN 0 ELSE coalesce(outside_pct, 0) END AS outside_passes,
        coalesce(overlapping.layer_count, 0) AS overlapping_layers,
        coalesce(interleaved.layer_count, 0) AS interleaved_layers,
        coalesce(uneven.moved_pct, 0) AS uneven_collectives,
        coalesce(marked.layer_count, 0) AS layers_between_marks
    FROM (SELECT DISTINCT trace_id FROM kernels) AS with_kernels
    LEFT JOIN found USING (trace_id)
    LEFT JOIN covered USING (trace_id)
    LEFT JOIN overlapping USING (trace_id)
    LEFT JOIN interleaved USING (trace_id)
    LEFT JOIN uneven USING (trace_id)
    LEFT JOIN marked USING (trace_id)
)
SELECT trace_id, "check", severity, value, unit, threshold, message
FROM judged_checks(measures);
