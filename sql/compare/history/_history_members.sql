-- One row per trace of a history: the point that it belongs to, as in history_points.
--
-- A lone trace, one that has a point of its own, is named by its name; where another point of the
-- lake has that name, too, the beginning of its id tells it apart.
--
-- trace_id            VARCHAR    trace
-- run                 VARCHAR    point: value of the attribute, else name of the trace
-- recorded_at         TIMESTAMP  when the trace was recorded, UTC
-- recorded_at_source  VARCHAR    its source, as in traces
CREATE MACRO _history_members(of_tag, of_traces) AS TABLE
WITH labels AS (
    SELECT trace_id, value FROM trace_labels WHERE key = of_tag AND of_tag <> 'trace'
),
lone AS (
    SELECT
        trace_id, trace,
        count(*) OVER (PARTITION BY trace) > 1 OR trace IN (SELECT value FROM labels) AS is_shared
    FROM traces
    ANTI JOIN labels USING (trace_id)
    WHERE of_tag IN ('run', 'trace')
),
members AS (
    SELECT trace_id, value AS run FROM labels
    UNION ALL
    SELECT trace_id, if(is_shared, format('{} ({})', trace, trace_id[:8]), trace) FROM lone
)
SELECT trace_id, members.run, traces.recorded_at, traces.recorded_at_source
FROM members
JOIN traces USING (trace_id)
WHERE of_traces IS NULL OR trace_id IN (SELECT unnest(of_traces));
