-- One row per trace, mode and category of the reference's profile summary, its errors included: all
-- devices in one total.
-- Provided for comparison with time_breakdown, which is the relation to use.
--
-- Mode exclusive_per_track adds the own times of all events on all lines except those named Steps:
-- the operations, their modules and the waiting threads. Mode exclusive_global counts each moment
-- between the first and the last computing event as communication if any device communicates, else
-- as compute if any computes; the rest it calls stall.
--
-- key: trace_id, mode, category
--
-- trace_id  VARCHAR  trace
-- mode      VARCHAR  exclusive_per_track or exclusive_global
-- category  VARCHAR  compute, communication, host, stall or other
-- total_us  DOUBLE   time, µs
-- share     DOUBLE   part of the mode's total, 0 when that is 0
CREATE VIEW compat_time_breakdown AS
WITH categories AS (
    SELECT unnest(['compute', 'communication', 'host', 'stall', 'other']) AS category
),
tracks AS (
    SELECT trace_id, category, sum(exclusive_ns) AS total_ns
    FROM _compat_exclusive
    WHERE thread IS DISTINCT FROM 'Steps'
    GROUP BY trace_id, category
),
windows AS (
    SELECT trace_id, min(start_ns) AS start_ns, max(end_ns) AS end_ns
    FROM _compat_events
    WHERE category = 'compute' AND thread IS DISTINCT FROM 'Steps'
    GROUP BY trace_id
    HAVING max(end_ns) > min(start_ns)
),
clipped AS (
    SELECT
        e.trace_id, category, greatest(e.start_ns, w.start_ns) AS start_ns,
        least(e.end_ns, w.end_ns) AS end_ns
    FROM _compat_events AS e
    JOIN windows AS w ON w.trace_id = e.trace_id
    WHERE
        category IN ('compute', 'communication') AND starts_with(process, '/device:')
        AND thread IS DISTINCT FROM 'Steps'
        AND e.start_ns < w.end_ns AND e.end_ns > w.start_ns
),
edges AS (
    SELECT trace_id, category, start_ns AS at_ns, 1 AS step FROM clipped
    UNION ALL
    SELECT trace_id, category, end_ns, -1 FROM clipped
),
stretches AS (
    SELECT
        trace_id, lead(at_ns) OVER in_time - at_ns AS length_ns,
        sum(step) FILTER (category = 'communication') OVER in_time > 0 AS communicates,
        sum(step) FILTER (category = 'compute') OVER in_time > 0 AS computes
    FROM edges
    WINDOW in_time AS (PARTITION BY trace_id ORDER BY at_ns ROWS UNBOUNDED PRECEDING)
),
covered AS (
    SELECT
        trace_id,
        coalesce(sum(length_ns) FILTER (communicates), 0) AS communication_ns,
        coalesce(sum(length_ns) FILTER (computes AND NOT coalesce(communicates, FALSE)), 0)
            AS compute_ns
    FROM stretches
    GROUP BY trace_id
),
global AS (
    SELECT
        trace_id, category,
        CASE category
            WHEN 'communication' THEN communication_ns
            WHEN 'compute' THEN compute_ns
            WHEN 'stall' THEN end_ns - start_ns - communication_ns - compute_ns
            ELSE 0
        END AS total_ns
    FROM windows
    JOIN covered USING (trace_id)
    CROSS JOIN categories
),
totals AS (
    SELECT trace_id, 'exclusive_per_track' AS mode, category, total_ns FROM tracks
    UNION ALL
    SELECT trace_id, 'exclusive_global', category, total_ns FROM global
),
filled AS (
    -- A device without a window has all rows, with 0.
    SELECT traces.trace_id, modes.mode, categories.category, coalesce(total_ns, 0) AS total_ns
    FROM traces
    CROSS JOIN (VALUES ('exclusive_per_track'), ('exclusive_global')) AS modes(mode)
    CROSS JOIN categories
    LEFT JOIN totals
        ON totals.trace_id = traces.trace_id AND totals.mode = modes.mode
        AND totals.category = categories.category
)
SELECT
    trace_id, mode, category, total_ns / 1000.0 AS total_us,
    coalesce(
        total_ns / CAST(nullif(sum(total_ns) OVER (PARTITION BY trace_id, mode), 0) AS DOUBLE), 0
    ) AS share
FROM filled;
