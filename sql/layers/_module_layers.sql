-- One row per call of a layer's module, as the profiler's Python frames show it. The number in the
-- frame's name counts the instances of its class. Calls of one class from 0 on are one call of the
-- model; where several classes take turns, a layer is numbered by its place in the call instead.
-- Frames inside another layer's frame are parts of it.
-- trace_id    VARCHAR  trace
-- pid         VARCHAR  process
-- tid         VARCHAR  thread
-- start_ns    BIGINT   start of the call
-- end_ns      BIGINT   end of the call
-- call_id     BIGINT   call of the model on its thread, from 0
-- layer_id    BIGINT   layer, from 0
-- num_layers  BIGINT   layers of the model
CREATE VIEW _module_layers AS
WITH frames AS (
    SELECT trace_id, pid, tid, name, event_id, start_ns, end_ns
    FROM events
    WHERE lane = 'python' AND starts_with(name, 'nn.Module: ') AND dur_ns > 0
),
names AS (
    SELECT
        name,
        regexp_extract(
            name, '^nn\.Module: (\w*?(DecoderLayer|TransformerBlock|Layer))_(\d+)$',
            ['class', 'kind', 'instance']
        ) AS parts
    FROM (SELECT DISTINCT name FROM frames)
    WHERE regexp_matches(name, '(DecoderLayer|TransformerBlock|Layer)_\d+$')
),
modules AS (
    SELECT
        f.trace_id, f.pid, f.tid, f.event_id, f.start_ns, f.end_ns, n.parts.class AS class,
        CAST(n.parts.instance AS BIGINT) AS instance
    FROM frames AS f
    JOIN names AS n USING (name)
    -- A plain Layer may be any part of a model: it counts only where nothing better is named.
    QUALIFY dense_rank() OVER (
        PARTITION BY f.trace_id, f.pid, f.tid ORDER BY n.parts.kind = 'Layer'
    ) = 1
),
outermost AS (
    SELECT *
    FROM modules
    QUALIFY start_ns >= coalesce(max(end_ns) OVER (
        PARTITION BY trace_id, pid, tid ORDER BY start_ns, end_ns DESC, event_id
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ), start_ns)
),
stepped AS (
    SELECT
        *,
        instance <= lag(instance) OVER (
            PARTITION BY trace_id, pid, tid, class ORDER BY start_ns
        ) AS begins_call,
        count(DISTINCT class) OVER (PARTITION BY trace_id, pid, tid) AS classes
    FROM outermost
),
called AS (
    SELECT
        *,
        count(CASE WHEN begins_call THEN 1 END) OVER (
            PARTITION BY trace_id, pid, tid, class ORDER BY start_ns ROWS UNBOUNDED PRECEDING
        ) AS call_id
    FROM stepped
),
numbered AS (
    SELECT
        *,
        min(instance) OVER one_class AS first_instance,
        max(instance) OVER one_class AS last_instance,
        count(*) OVER one_class AS instances,
        CASE
            WHEN classes = 1 THEN instance
            ELSE row_number() OVER (
                PARTITION BY trace_id, pid, tid, call_id ORDER BY start_ns
            ) - 1
        END AS layer_id
    FROM called
    WINDOW one_class AS (PARTITION BY trace_id, pid, tid, class, call_id)
),
whole AS (
    SELECT
        *,
        bool_and(
            last_instance - first_instance + 1 = instances
            -- Only the first call may have begun before the capture.
            AND (first_instance = 0 OR (call_id = 0 AND classes = 1))
        ) OVER (PARTITION BY trace_id, pid, tid, call_id) AS is_whole
    FROM numbered
)
SELECT
    trace_id, pid, tid, start_ns, end_ns, call_id, layer_id,
    max(layer_id) OVER (PARTITION BY trace_id, pid, tid) + 1 AS num_layers
FROM whole
WHERE is_whole
QUALIFY num_layers > 1;
