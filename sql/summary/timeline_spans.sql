-- One row per trace and device: the interval that represents the trace. The chosen pass if there is
-- one, in training the forward, as `layers` shows it, else a counted step, else the whole trace.
CREATE VIEW _shown_windows AS
WITH windows AS (
    SELECT
        trace_id, device, start_ns, end_ns, 1 AS place, busy_us AS weight,
        concat_ws(' ', 'pass', pass_id, direction, stage) AS what
    FROM passes
    WHERE chosen
    QUALIFY 1 = row_number() OVER (
        PARTITION BY trace_id, device
        ORDER BY NOT main_series, coalesce(direction, 'forward') <> 'forward', pass_id
    )
    UNION ALL
    SELECT
        trace_id, device, coalesce(first_op_ns, start_ns), coalesce(last_op_ns, end_ns), 2, busy_us,
        concat_ws(' ', 'step', step_id, program)
    FROM steps
    WHERE device >= 0 AND NOT (is_warm_up OR is_partial)
    UNION ALL
    SELECT trace_id, device, start_ns, end_ns, 3, busy_us, 'all of the trace'
    FROM time_breakdown
)
SELECT trace_id, device, start_ns, end_ns, what
FROM windows
WHERE end_ns > start_ns
QUALIFY 1 = row_number() OVER (
    PARTITION BY trace_id, device ORDER BY place, weight DESC, start_ns
);

-- One row per bar of a device's time line: layers, kernels and idle time of the pass that
-- represents the trace; without passes, of a step or of the whole trace. Kernels that enclose
-- others (enclosing_kernels) would hide these, and are left out.
--
-- key: trace_id, device, lane, start_ns, span_id
--
-- trace_id  VARCHAR  trace
-- device    INTEGER  device
-- what      VARCHAR  what is shown: a pass, a step, or all of the trace
-- lane      VARCHAR  layers, in training with their direction; compute, communication, memory, idle
-- span_id   BIGINT   number of the layer, the kernel or the gap
-- start_ns  BIGINT   start, ns
-- end_ns    BIGINT   end, ns
-- rel_us    DOUBLE   start, from the first µs shown
-- dur_us    DOUBLE   duration, µs
-- label     VARCHAR  name of the kernel, type of the layer, cause of the idle time
-- category  VARCHAR  group of the kernel's category, or type of the layer; NULL for idle time
CREATE VIEW timeline_spans AS
WITH spans AS (
    SELECT
        trace_id, device, concat_ws(' ', 'layers', direction) AS lane, layer_id AS span_id,
        start_ns, end_ns,
        concat_ws(' ', 'layer', layer_id, layer_type) AS label, layer_type AS category
    FROM layers
    UNION ALL
    SELECT
        trace_id, device, kind AS lane, kernel_id, start_ns, end_ns, display_name,
        coalesce(category_group, 'other')
    FROM kernels
    ANTI JOIN enclosing_kernels USING (trace_id, kernel_id)
    LEFT JOIN category_groups USING (category)
    UNION ALL
    SELECT trace_id, device, 'idle', gap_id, start_ns, end_ns, cause, NULL
    FROM gaps
)
SELECT
    w.trace_id, w.device, w.what, s.lane, s.span_id, s.start_ns, s.end_ns,
    (s.start_ns - w.start_ns) / 1000.0 AS rel_us, (s.end_ns - s.start_ns) / 1000.0 AS dur_us,
    s.label, s.category
FROM _shown_windows AS w
JOIN spans AS s
    ON s.trace_id = w.trace_id AND s.device = w.device
    AND s.start_ns >= w.start_ns AND s.end_ns <= w.end_ns;
