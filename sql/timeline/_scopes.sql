-- One row per named stretch of a thread that its kernels can be attributed to: calls of modules,
-- annotations of the user, runs of backward functions, and of the operators that are
-- differentiated.
--
-- Annotations that stand for a step are left out: each has a name of its own and all work in it.
--
-- trace_id  VARCHAR  trace
-- pid       VARCHAR  process; of an annotation on a device, the device
-- tid       VARCHAR  thread; of an annotation on a device, the stream
-- scope_id  BIGINT   event_id
-- kind      VARCHAR  module, annotation, backward, forward (an operator that is differentiated), or
--                    device: an annotation the device carries
-- scope     VARCHAR  name to show
-- start_ns  BIGINT   start, ns
-- end_ns    BIGINT   end, ns
CREATE VIEW _scopes AS
WITH found AS (
    SELECT
        trace_id, pid, tid, event_id, start_ns, end_ns, name,
        CASE
            WHEN lane = 'python' THEN 'module'
            WHEN category = 'user_annotation' THEN 'annotation'
            ELSE 'device'
        END AS kind
    FROM events
    WHERE
        dur_ns > 0
        AND (
            (lane = 'python' AND starts_with(name, 'nn.Module: '))
            OR (lane = 'host' AND category = 'user_annotation')
            OR (lane = 'device' AND category = 'gpu_user_annotation')
        )
    UNION ALL
    SELECT
        trace_id, pid, tid, event_id, start_ns, end_ns, name,
        if(is_backward, 'backward', 'forward')
    FROM autograd_calls
),
names AS (
    SELECT name
    FROM (SELECT DISTINCT name FROM found WHERE kind IN ('annotation', 'device'))
    JOIN step_rules ON regexp_matches(name, pattern)
    GROUP BY name
)
SELECT
    trace_id, pid, tid, event_id AS scope_id, kind,
    CASE kind WHEN 'module' THEN substr(name, 12) ELSE name END AS scope,
    start_ns, end_ns
FROM found
ANTI JOIN names USING (name)
WHERE NOT (kind IN ('annotation', 'device') AND regexp_matches(name, '^ProfilerStep#\d+$'));
