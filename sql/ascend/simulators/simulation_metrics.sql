-- One row per simulated trace and metric of how much of it is based on measurements.
--
-- M1: calls with a time from measurements; a partial one does not count. M2: fused functions, one
-- vote each, all of whose calls have one. M3: the same without functions that cost nothing or whose
-- miss is accepted. M4: distinct pairs of function and shapes. M5: share of the time that the
-- simulator's own model gives those calls; only a trace of two models has it.
--
-- key: trace_id, metric
--
-- trace_id  VARCHAR  trace of the simulator
-- metric    VARCHAR  M1 to M5
-- value     DOUBLE   hits over total; NULL if the trace has none of what is counted
-- hits      DOUBLE   those with a time from measurements: a count, for M5 µs
-- total     DOUBLE   all
CREATE VIEW simulation_metrics AS
WITH calls AS (
    SELECT
        o.trace_id, o.event_id, regexp_replace(op_name, '^torch\.ops\.', '') AS op_name, shape_key,
        status = 'hit' AS hit, status = 'zero_cost' AS zero_cost,
        row_number() OVER (PARTITION BY o.trace_id, op_name ORDER BY o.event_id) AS nth
    FROM simulated_ops AS o
    WHERE kind = 'trace' AND part = 1
),
groups AS (
    SELECT op_name, min(fused_group) AS fused_group
    FROM (SELECT DISTINCT op_name FROM calls)
    JOIN fused_ops ON regexp_matches(op_name, pattern)
    GROUP BY op_name
),
accepted AS (
    SELECT calls.trace_id, op_name
    FROM calls
    JOIN events ON events.trace_id = calls.trace_id AND events.event_id = calls.event_id
    WHERE contains(args, '"accepted_miss"') AND lower(args ->> '$.accepted_miss') = 'true'
    GROUP BY calls.trace_id, op_name
),
functions AS (
    SELECT
        calls.trace_id, op_name, bool_and(hit) AS hit,
        bool_or(zero_cost) OR bool_or(accepted.op_name IS NOT NULL) AS excused
    FROM calls
    JOIN groups USING (op_name)
    LEFT JOIN accepted USING (trace_id, op_name)
    GROUP BY calls.trace_id, op_name
),
pairs AS (
    SELECT trace_id, op_name, shape_key, bool_and(hit) AS hit
    FROM calls
    WHERE NOT zero_cost
    GROUP BY trace_id, op_name, shape_key
),
analytic_processes AS (
    SELECT trace_id, pid
    FROM events
    SEMI JOIN calls USING (trace_id)
    WHERE
        lane = 'meta' AND name = 'process_name' AND contains(lower(args ->> '$.name'), 'analytic')
),
analytic AS (
    SELECT
        e.trace_id, regexp_replace(e.name, '^torch\.ops\.', '') AS op_name, dur_ns,
        row_number() OVER (PARTITION BY e.trace_id, e.name ORDER BY event_id) AS nth
    FROM events AS e
    JOIN analytic_processes AS p ON p.trace_id = e.trace_id AND p.pid = e.pid
    WHERE e.ph = 'X'
),
counted AS (
    SELECT trace_id, 'M1' AS metric, count(*) FILTER (hit) AS hits, count(*) AS total
    FROM calls
    WHERE NOT zero_cost
    GROUP BY trace_id
    UNION ALL
    SELECT trace_id, 'M2', count(*) FILTER (hit), count(*)
    FROM functions
    GROUP BY trace_id
    UNION ALL
    SELECT trace_id, 'M3', count(*) FILTER (hit AND NOT excused), count(*) FILTER (NOT excused)
    FROM functions
    GROUP BY trace_id
    UNION ALL
    SELECT trace_id, 'M4', count(*) FILTER (hit), count(*)
    FROM pairs
    GROUP BY trace_id
    UNION ALL
    SELECT
        calls.trace_id, 'M5', coalesce(sum(dur_ns) FILTER (hit), 0) / 1000.0,
        sum(dur_ns) / 1000.0
    FROM calls
    JOIN analytic USING (trace_id, op_name, nth)
    GROUP BY calls.trace_id
)
SELECT
    trace_id, metric, hits / nullif(total, 0) AS value, CAST(hits AS DOUBLE) AS hits,
    CAST(total AS DOUBLE) AS total
FROM counted;
