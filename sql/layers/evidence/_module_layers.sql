-- One row per call of a layer's module. Layers are recognised by the structure of the calls:
-- instances of one class, numbered without a gap, that one call of the module around them calls in
-- sequence. The module around them is the model. Of nested repetitions the outermost counts: what a
-- layer calls is part of it, and no model where it is called without the layer, as a checkpoint
-- does that runs the layer's function again instead of its module.
-- Three or more instances of any class that calls modules itself are layers. For classes named
-- layer or block two suffice, and all such classes that a module calls count together, numbered by
-- their place in the call. Only these may stand without a module around them; then classes that
-- alternate are of one model, and calls are told apart by the instance numbers.
-- trace_id    VARCHAR  trace
-- pid         VARCHAR  process
-- tid         VARCHAR  thread
-- start_ns    BIGINT   start of the call
-- end_ns      BIGINT   end of the call
-- series      VARCHAR  the module around the layers; without one, the class of the first layer
-- call_id     BIGINT   call of a model on its thread, from 0
-- layer_id    BIGINT   layer, from 0
-- num_layers  BIGINT   layers of the model
CREATE VIEW _module_layers AS
WITH kinds AS (
    SELECT
        class,
        CASE
            WHEN regexp_matches(class, '(Layer|Block)(\d+[dD])?$') THEN 'layer' ELSE class
        END AS kind
    FROM (SELECT DISTINCT class FROM module_calls WHERE class IS NOT NULL)
),
likely AS (
    SELECT
        f.trace_id, f.pid, f.tid, f.event_id, f.start_ns, f.end_ns, f.class, f.instance,
        f.parent_id, f.parent, f.is_begun, k.kind,
        coalesce(f.instance <= lag(f.instance) OVER (
            PARTITION BY f.trace_id, f.pid, f.tid, f.parent_id, f.class
            ORDER BY f.start_ns, f.event_id
        ), FALSE) AS begins_again
    FROM module_calls AS f
    JOIN kinds AS k ON k.class = f.class
    WHERE k.kind = 'layer' OR (f.has_children AND f.parent_id IS NOT NULL)
),
turns AS (
    SELECT
        *,
        count(CASE WHEN begins_again THEN 1 END) OVER (
            PARTITION BY trace_id, pid, tid, parent_id, class
            ORDER BY start_ns, event_id ROWS UNBOUNDED PRECEDING
        ) AS turn
    FROM likely
),
alone AS (
    SELECT
        trace_id, pid, tid, class, turn, min(start_ns) AS start_ns, max(end_ns) AS end_ns
    FROM turns
    WHERE parent_id IS NULL
    GROUP BY trace_id, pid, tid, class, turn
),
mixed AS (
    SELECT
        *,
        last_value(CASE WHEN is_first THEN class END IGNORE NULLS) OVER (
            PARTITION BY trace_id, pid, tid, turn ORDER BY start_ns, class ROWS UNBOUNDED PRECEDING
        ) AS model
    FROM (
        SELECT
            *,
            start_ns >= coalesce(max(end_ns) OVER (
                PARTITION BY trace_id, pid, tid, turn ORDER BY start_ns, class
                ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
            ), start_ns) AS is_first
        FROM alone
    )
),
modelled AS (
    SELECT t.*, coalesce(t.parent, m.model) AS model
    FROM turns AS t
    LEFT JOIN mixed AS m
        ON t.parent_id IS NULL AND m.trace_id = t.trace_id AND m.pid = t.pid AND m.tid = t.tid
        AND m.class = t.class AND m.turn = t.turn
),
-- Instances and time of a class over all calls of a model.
classes AS (
    SELECT
        trace_id, pid, tid, model, kind, class, min(instance) AS lowest,
        max(instance) AS highest,
        min(instance) FILTER (NOT is_begun) AS lowest_whole,
        count(DISTINCT instance) AS instances, sum(end_ns - start_ns) AS sum_ns
    FROM modelled
    GROUP BY trace_id, pid, tid, model, kind, class
),
repeated AS (
    SELECT trace_id, pid, tid, model, kind, count(*) AS classes
    FROM classes
    GROUP BY trace_id, pid, tid, model, kind
    HAVING
        max(instances) >= CASE WHEN kind = 'layer' THEN 2 ELSE 3 END
        AND bool_and(highest - lowest + 1 = instances)
    QUALIFY row_number() OVER (
        PARTITION BY trace_id, pid, tid, model ORDER BY kind <> 'layer', sum(sum_ns) DESC, kind
    ) = 1
),
called AS (
    SELECT
        t.*, r.classes,
        -- Instances of other models come first; a call that the capture cuts lacks some of its own.
        CASE WHEN c.lowest = c.lowest_whole THEN c.lowest ELSE 0 END AS first_instance,
        min(t.instance) OVER one_class AS begins_with,
        max(t.instance) OVER one_class - min(t.instance) OVER one_class + 1
            = count(*) OVER one_class AS is_full,
        row_number() OVER (
            PARTITION BY t.trace_id, t.pid, t.tid, t.model, t.parent_id, t.turn
            ORDER BY t.start_ns, t.event_id
        ) - 1 AS place,
        min(t.start_ns) OVER (
            PARTITION BY t.trace_id, t.pid, t.tid, t.model, t.parent_id, t.turn
        ) AS call_ns,
        min(t.start_ns) OVER (PARTITION BY t.trace_id, t.pid, t.tid, t.model) AS first_ns
    FROM modelled AS t
    JOIN repeated AS r
        ON r.trace_id = t.trace_id AND r.pid = t.pid AND r.tid = t.tid AND r.model = t.model
        AND r.kind = t.kind
    JOIN classes AS c
        ON c.trace_id = t.trace_id AND c.pid = t.pid AND c.tid = t.tid AND c.model = t.model
        AND c.class = t.class
    WINDOW one_class AS (
        PARTITION BY t.trace_id, t.pid, t.tid, t.model, t.class, t.parent_id, t.turn
    )
),
whole AS (
    SELECT
        *,
        bool_and(
            is_full
            -- Only the first call may have begun before the capture.
            AND (begins_with = first_instance OR (classes = 1 AND call_ns = first_ns))
        ) OVER (PARTITION BY trace_id, pid, tid, model, parent_id, turn) AS is_whole
    FROM called
),
placed AS (
    SELECT
        *,
        max(end_ns) OVER (
            PARTITION BY trace_id, pid, tid ORDER BY start_ns, end_ns DESC, event_id
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS reached_ns
    FROM whole
    WHERE is_whole
),
outermost AS (
    SELECT *
    FROM placed
    QUALIFY
        NOT coalesce(bool_or(end_ns <= reached_ns) OVER (PARTITION BY trace_id, pid, model), FALSE)
        AND start_ns >= coalesce(reached_ns, start_ns)
),
numbered AS (
    SELECT
        *, CASE WHEN classes = 1 THEN instance - first_instance ELSE place END AS layer_id
    FROM outermost
)
SELECT
    trace_id, pid, tid, start_ns, end_ns, model AS series,
    dense_rank() OVER (
        PARTITION BY trace_id, pid, tid ORDER BY call_ns, model, parent_id, turn
    ) - 1 AS call_id,
    layer_id, max(layer_id) OVER (PARTITION BY trace_id, pid, tid, model) + 1 AS num_layers
FROM numbered
QUALIFY num_layers > 1;
