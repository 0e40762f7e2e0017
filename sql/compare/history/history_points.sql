-- One row per value of an attribute and metric: the traces with that value together, in the order
-- in which they were recorded.
--
-- `FROM history_points(measures, 'run', NULL)` with a relation, or a CTE of the query, of the
-- columns trace_id, metric and value; an attribute of trace_labels (run, model, commit …); and a
-- list of traces, or NULL for all. A trace without a run is a point of its own, as each trace is by
-- the attribute trace; without another attribute it belongs to no point.
--
-- metric       VARCHAR    metric
-- run          VARCHAR    value of the attribute, else name of the trace, with the beginning of its
--                         id where another point of the lake has that name
-- recorded_at  TIMESTAMP  when the first of them was recorded, UTC
-- source       VARCHAR    its source, as in traces
-- traces       BIGINT     traces
-- value        DOUBLE     median of their values
-- low          DOUBLE     lowest of them
-- high         DOUBLE     highest
CREATE MACRO history_points(measured, of_tag, of_traces) AS TABLE
WITH valued AS (
    -- A relation may have several rows of a trace.
    SELECT trace_id, metric, median(value) AS value
    FROM query_table(measured)
    GROUP BY trace_id, metric
    HAVING median(value) IS NOT NULL
)
SELECT
    metric, members.run, min(recorded_at) AS recorded_at,
    arg_min(recorded_at_source, (recorded_at, recorded_at_source)) AS source, count(*) AS traces,
    median(value) AS value, min(value) AS low, max(value) AS high
FROM valued
JOIN _history_members(of_tag, of_traces) AS members USING (trace_id)
GROUP BY metric, members.run;
