-- One row per annotation that is a part of a layer. Annotations on one thread that follow each
-- other in a fixed cycle, at least twice within one enclosing annotation, are parts of layers: each
-- turn of the cycle is a layer.
--
-- stored: meanwhile
CREATE VIEW _annotated_layers AS
WITH directions AS (
    SELECT n.name, arg_min(r.direction, r.priority) AS direction
    FROM (
        SELECT name, unnest(_matching_direction_rules(name)) AS priority
        FROM (
            SELECT DISTINCT name FROM events WHERE lane = 'host' AND category = 'user_annotation'
        )
    ) AS n
    JOIN direction_rules AS r ON r.priority = n.priority AND r.subject = 'annotation'
    GROUP BY n.name
),
annotations AS (
    SELECT
        trace_id, pid, tid, name, event_id, start_ns, end_ns,
        coalesce(lead(start_ns) OVER thread < end_ns, FALSE) AS encloses
    FROM events
    WHERE lane = 'host' AND category = 'user_annotation' AND dur_ns > 0
    WINDOW thread AS (PARTITION BY trace_id, pid, tid ORDER BY start_ns, end_ns DESC, event_id)
),
nested AS (
    SELECT
        *,
        last_value(
            CASE
                WHEN encloses
                    THEN {'id': event_id, 'start_ns': start_ns, 'end_ns': end_ns, 'name': name}
            END
            IGNORE NULLS
        ) OVER (
            PARTITION BY trace_id, pid, tid ORDER BY start_ns, end_ns DESC, event_id
            ROWS UNBOUNDED PRECEDING
        ) AS around
    FROM annotations
),
inner_ones AS (
    SELECT
        *,
        row_number() OVER (
            PARTITION BY trace_id, pid, tid, around.id ORDER BY start_ns, event_id
        ) - 1 AS place,
        count(*) OVER enclosed AS places,
        count(DISTINCT name) OVER enclosed AS cycle
    FROM nested
    WHERE NOT encloses AND end_ns <= around.end_ns
    WINDOW enclosed AS (PARTITION BY trace_id, pid, tid, around.id)
),
turned AS (
    SELECT
        *,
        -- A cycle is fixed if each position in it has one name.
        count(DISTINCT (place % cycle, name)) OVER (
            PARTITION BY trace_id, pid, tid, around.id
        ) = cycle AS is_fixed
    FROM inner_ones
    WHERE cycle > 1 AND places % cycle = 0 AND places >= 2 * cycle
)
SELECT
    t.trace_id, t.pid, t.tid, t.start_ns, t.end_ns, t.around.name AS series,
    dense_rank() OVER (
        PARTITION BY t.trace_id, t.pid, t.tid ORDER BY t.around.start_ns, t.around.id
    ) - 1 AS call_id,
    t.place // t.cycle AS layer_id, t.places // t.cycle AS num_layers, t.name AS component,
    d.direction
FROM turned AS t
LEFT JOIN directions AS d ON d.name = t.name
WHERE t.is_fixed;

-- One row per stretch of host time in which a layer, or a part of one, launches its kernels: the
-- calls of modules if a trace shows them, else annotations. If several threads of a process show
-- layers, the one that shows the most is used.
--
-- stored: per trace
--
-- trace_id     VARCHAR  trace
-- pid          VARCHAR  process
-- tid          VARCHAR  thread
-- start_ns     BIGINT   start
-- end_ns       BIGINT   end
-- series       VARCHAR  the model: module or annotation around its layers
-- call_id      BIGINT   call of the model, from 0
-- layer_id     BIGINT   layer, from 0
-- num_layers   BIGINT   layers of the model
-- component    VARCHAR  part of the layer, NULL if the whole layer is one stretch
-- direction    VARCHAR  forward, backward or weight gradient, NULL if unknown
-- pass_source  VARCHAR  module scopes or annotations
CREATE VIEW _host_layers AS
WITH given AS (
    SELECT
        trace_id, pid, tid, start_ns, end_ns, series, call_id, layer_id, num_layers,
        CAST(NULL AS VARCHAR) AS component, CAST(NULL AS VARCHAR) AS direction,
        'module scopes' AS pass_source
    FROM _module_layers
    UNION ALL
    SELECT
        trace_id, pid, tid, start_ns, end_ns, series, call_id, layer_id, num_layers, component,
        direction, 'annotations' AS pass_source
    FROM _annotated_layers
),
threads AS (
    SELECT trace_id, pid, tid, pass_source
    FROM given
    GROUP BY trace_id, pid, tid, pass_source
    QUALIFY row_number() OVER (
        PARTITION BY trace_id, pid ORDER BY pass_source DESC, count(*) DESC, tid
    ) = 1
)
SELECT
    trace_id, pid, tid, start_ns, end_ns, series, call_id, layer_id, num_layers, component,
    direction, pass_source
FROM given
JOIN threads USING (trace_id, pid, tid, pass_source);
