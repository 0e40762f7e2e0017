-- One row per trace and measure of its own that a finding may be based on: only its worst case.
--
-- stored: per trace
--
-- trace_id  VARCHAR  trace
-- finding   VARCHAR  name of the finding
-- value     DOUBLE   measured value
-- gain_us   DOUBLE   upper bound of the device time that could be saved, over all devices, µs
-- evidence  VARCHAR  the figures in words
-- query     VARCHAR  SQL that shows them
CREATE VIEW _own_finding_values AS
WITH captures AS (
    -- Captured launches are not executed, so the trace has no durations for them.
    SELECT trace_id, launches, operations
    FROM (SELECT trace_id, sum(launches) AS launches FROM stream_captures GROUP BY trace_id)
    JOIN (SELECT trace_id, count(*) AS operations FROM kernels GROUP BY trace_id) USING (trace_id)
    WHERE launches > operations
),
idle_sums AS (
    SELECT
        trace_id,
        -- Time spent waiting for work from before the capture cannot be saved.
        sum(end_ns - start_ns) FILTER (cause = 'work not recorded') / 1000.0 AS held_us,
        sum(end_ns - start_ns) FILTER (cause LIKE '% in progress') / 1000.0 AS in_call_us
    FROM _idle_intervals
    GROUP BY trace_id
),
wholes AS (
    SELECT
        trace_id, sum(window_us) AS whole_us, count(*) AS devices,
        sum(exposed_communication_us) AS exposed_us, sum(hidden_communication_us) AS hidden_us,
        sum(exposed_memory_us) AS memory_us,
        sum(idle_us) - coalesce(any_value(held_us), 0) AS idle_us, sum(wait_us) AS wait_us,
        sum(host_bound_idle_us) AS host_bound_us,
        coalesce(any_value(in_call_us), 0) AS in_call_us
    FROM time_breakdown
    LEFT JOIN idle_sums USING (trace_id)
    ANTI JOIN captures USING (trace_id)
    GROUP BY trace_id
    HAVING sum(window_us) > 0
),
op_names AS (
    SELECT
        trace_id, program, name, canonical_name, dedup_name, hlo_category,
        class = 'compute' AS computes, count(*) AS calls, sum(self_ns) AS self_ns
    FROM _device_ops
    -- Communication counts only as far as it is exposed, see communication-heavy. A graph traced
    -- whole is no operation: the check whole_graphs has its time.
    WHERE role = 'op' AND class NOT IN ('communication', 'wait') AND category <> 'graph'
    GROUP BY trace_id, program, name, canonical_name, dedup_name, hlo_category, computes
),
shared_ops AS (
    SELECT
        trace_id, program, computes,
        _shared_name(name, canonical_name, dedup_name, hlo_category) AS op,
        CAST(sum(calls) AS BIGINT) AS calls, sum(self_ns) / 1000.0 AS self_us
    FROM op_names
    GROUP BY trace_id, program, computes, op
),
hottest AS (
    SELECT trace_id, computes, program, op, calls, self_us
    FROM shared_ops
    QUALIFY 1 = row_number() OVER (
        PARTITION BY trace_id, computes ORDER BY self_us DESC, op, program
    )
),
gap_sums AS (
    SELECT
        trace_id, payload_name, mode(marker_name ORDER BY marker_name) AS marker_name,
        count(*) AS gaps, sum(gap_us) AS gap_us, max(gap_us) AS longest_us
    FROM gaps
    WHERE cause IS DISTINCT FROM 'work not recorded'
    GROUP BY trace_id, payload_name
),
worst_gaps AS (
    SELECT trace_id, payload_name, marker_name, longest_us, gaps, gap_us
    FROM gap_sums
    QUALIFY row_number() OVER (PARTITION BY trace_id ORDER BY gap_us DESC, payload_name) = 1
),
longest_gaps AS (
    -- Few gaps are as long as the longest, and only these are sorted.
    SELECT trace_id, gap_us, device, gap_id, payload_name, previous_name, cause
    FROM gaps
    SEMI JOIN (
        SELECT trace_id, max(gap_us) AS gap_us
        FROM gaps
        WHERE cause IS DISTINCT FROM 'work not recorded'
        GROUP BY trace_id
    ) AS longest USING (trace_id, gap_us)
    WHERE cause IS DISTINCT FROM 'work not recorded'
    QUALIFY row_number() OVER (PARTITION BY trace_id ORDER BY gap_us DESC, device, gap_id) = 1
),
crossings AS (
    SELECT trace_id, sum(gap_us) AS gap_us, count(*) AS gaps
    FROM gaps
    WHERE kind = 'between_programs'
    GROUP BY trace_id
),
sized_steps AS (
    -- A step of more tokens may take longer in proportion. One that takes less is not a quick one.
    SELECT
        trace_id, program, tokens, median(tokens) OVER of_program AS usual_tokens,
        greatest(
            marker_us / greatest(coalesce(tokens / nullif(usual_tokens, 0), 1), 1),
            least(marker_us, median(marker_us) OVER of_program)
        ) AS sized_us
    FROM step_times
    WHERE NOT (is_warm_up OR is_partial)
    WINDOW of_program AS (PARTITION BY trace_id, program)
),
jitters AS (
    SELECT
        s.trace_id, s.program, count(*) AS steps, median(sized_us) AS median_us,
        quantile_cont(sized_us, 0.9) AS p90_us,
        quantile_cont(sized_us, 0.9) / median(sized_us) AS jitter,
        any_value(usual_tokens) FILTER (tokens > usual_tokens) AS usual_tokens,
        any_value(classes.steps) AS heavy, any_value(period) AS period,
        count(*) * (avg(sized_us) - median(sized_us)) AS excess_us
    FROM sized_steps AS s
    LEFT JOIN step_classes AS classes
        ON classes.trace_id = s.trace_id AND classes.step_class = 'heavy'
        AND classes.program IS NOT DISTINCT FROM s.program
    GROUP BY s.trace_id, s.program
    HAVING count(*) >= 4 AND median(sized_us) > 0
),
worst_jitters AS (
    SELECT
        trace_id, program, steps, median_us, p90_us, jitter, usual_tokens, heavy, period,
        excess_us
    FROM jitters
    QUALIFY row_number() OVER (PARTITION BY trace_id ORDER BY jitter DESC, program) = 1
)
SELECT
    trace_id, 'communication-heavy' AS finding, 100 * wholes.exposed_us / whole_us AS value,
    wholes.exposed_us AS gain_us,
    format(
        '{:.1f} µs with nothing but communication, {:.1f} µs hidden behind computation; '
            || 'most exposed: {}, {:.1f} µs in {} calls{}{}',
        wholes.exposed_us, hidden_us, coalesce(worst.kind, 'unknown'),
        coalesce(worst.exposed_us, 0), coalesce(worst.calls, 0),
        if(worst.is_wait, format(', the longest {:.1f} µs', worst.longest_us), ''),
        coalesce(', program ' || worst.program, '')
    ) AS evidence,
    format(
        'SELECT * FROM collective_kinds WHERE trace_id = ''{}'' ORDER BY exposed_us DESC', trace_id
    ) AS query
FROM wholes
LEFT JOIN _worst_collectives AS worst USING (trace_id)
UNION ALL
SELECT
    trace_id, 'stall-heavy', 100 * idle_us / whole_us, idle_us,
    concat(
        format('{:.1f} µs idle or waiting', idle_us),
        ', of these ' || nullif(concat_ws(
            ' and ',
            CASE WHEN wait_us >= 0.05 THEN format('{:.1f} µs in operations that wait', wait_us) END,
            CASE WHEN crossings.gap_us >= 0.05
                THEN format('{:.1f} µs between programs', crossings.gap_us) END
        ), '')
    ),
    format('SELECT * FROM time_breakdown WHERE trace_id = ''{}''', trace_id)
FROM wholes
LEFT JOIN crossings USING (trace_id)
UNION ALL
SELECT
    trace_id, 'host-bound', 100 * host_bound_us / whole_us, host_bound_us,
    format(
        '{:.1f} µs in which what came next was not launched yet, {:.1f} µs of them during its '
            || 'launch{}',
        host_bound_us, in_call_us,
        coalesce(
            format(
                '; the profiler recorded {} call{} of Python functions, which slows the host',
                stacks.calls, if(stacks.calls = 1, '', 's')
            ),
            ''
        )
    ),
    format(
        'SELECT * FROM gaps WHERE trace_id = ''{}'' ORDER BY host_bound_us DESC LIMIT 20', trace_id
    )
FROM wholes
LEFT JOIN _stack_traces AS stacks USING (trace_id)
UNION ALL
SELECT
    trace_id, 'between-programs', 100 * gap_us / whole_us, gap_us,
    format('{:.1f} µs in {} gap{}', gap_us, gaps, if(gaps = 1, '', 's')),
    format(
        'SELECT * FROM gaps WHERE trace_id = ''{}'' AND kind = ''between_programs'' '
            || 'ORDER BY gap_us DESC',
        trace_id
    )
FROM wholes
JOIN crossings USING (trace_id)
UNION ALL
SELECT
    -- If streams run side by side, the operations' times may exceed the devices'.
    trace_id, 'single-hot-op', 100 * least(self_us, whole_us) / whole_us,
    least(self_us, whole_us),
    format(
        '{}: {:.3f} µs in {} call{}{}', op, self_us, calls, if(calls = 1, '', 's'),
        coalesce(', program ' || program, '')
    ),
    format(
        'SELECT * FROM ops WHERE trace_id = ''{0}'' AND ''{1}'' IN (name, dedup_name)', trace_id,
        replace(op, '''', '''''')
    )
FROM wholes
JOIN hottest USING (trace_id)
WHERE computes
UNION ALL
SELECT
    trace_id, 'copy-heavy', 100 * memory_us / whole_us, memory_us,
    format(
        '{:.1f} µs with nothing but copies and fills{}', memory_us,
        coalesce(
            format(
                '; longest in all: {}, {:.1f} µs in {} call{}{}', op, self_us, calls,
                if(calls = 1, '', 's'), coalesce(', program ' || program, '')
            ),
            ''
        )
    ),
    format('SELECT * FROM time_breakdown WHERE trace_id = ''{}''', trace_id)
FROM wholes
-- Transfers that a TPU runs beside its operations are on separate lines.
LEFT JOIN (SELECT * FROM hottest WHERE NOT computes) USING (trace_id)
UNION ALL
SELECT
    trace_id, 'pre-op-gap', 100 * gap_us / whole_us, gap_us,
    format(
        'before {}: {:.3f} µs in {}; first operation after {}: {}', _display_name(payload_name),
        gap_us,
        if(gaps = 1, '1 gap', format('{} gaps, the longest {:.3f} µs', gaps, longest_us)),
        if(gaps = 1, 'it', 'them'), _display_name(marker_name)
    ),
    format(
        'SELECT * FROM gaps WHERE trace_id = ''{}'' AND payload_name = ''{}'' ORDER BY gap_us DESC',
        trace_id, replace(payload_name, '''', '''''')
    )
FROM wholes
JOIN worst_gaps USING (trace_id)
UNION ALL
SELECT
    trace_id, 'long-gap', gap_us, gap_us,
    format(
        '{:.3f} µs on device {}, from {} to {}{}', gap_us, device, _display_name(previous_name),
        _display_name(payload_name),
        coalesce('; cause: ' || cause, '')
    ),
    format(
        'SELECT * FROM gaps WHERE trace_id = ''{}'' AND device = {} AND gap_id = {}', trace_id,
        device, gap_id
    )
FROM wholes
JOIN longest_gaps USING (trace_id)
UNION ALL
SELECT
    trace_id, 'step-jitter', jitter, greatest(devices * excess_us, 0),
    format(
        'median {:.3f} µs, 90th percentile {:.3f} µs over {} steady steps{}{}{}{}', median_us,
        p90_us, steps, coalesce(' of ' || program, ''),
        coalesce(format(', scaled down to {:.0f} tokens', usual_tokens), ''),
        coalesce(format('; {} of them are of a class of their own, heavy', heavy), ''),
        coalesce(format(', every {} steps', period), '')
    ),
    format('SELECT * FROM steps WHERE trace_id = ''{}'' ORDER BY dur_us DESC', trace_id)
FROM wholes
JOIN worst_jitters USING (trace_id)
UNION ALL
SELECT
    trace_id, 'insufficient-data', NULL, NULL,
    format(
        'the trace shows how a graph was captured, not a run of it: {} launches were captured, '
            || '{} operations ran',
        launches, operations
    ),
    format('SELECT * FROM health WHERE trace_id = ''{}''', trace_id)
FROM captures;
