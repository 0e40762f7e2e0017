-- One row per launch of a graph that runs attention at least twice: its model. Graphs of one model,
-- whatever the batch size, share kernels that run equally often, once in each layer. The capture
-- may begin or end within a replay: one whose kernels end, or begin, a longer graph is of the
-- latter's model. A chain of drafts is no model's pass, and not here.
--
-- stored: meanwhile
--
-- trace_id   VARCHAR  trace
-- device     INTEGER  device
-- launch_id  BIGINT   the launch
-- launch_ns  BIGINT   its start
-- series     VARCHAR  graph 1 and so on in order of appearance, NULL if a cut replay may be of
--                     several models
CREATE VIEW _graph_models AS
WITH RECURSIVE kinds AS (
    SELECT trace_id, device, kind, launches, names_and_calls
    FROM _graph_kinds
    ANTI JOIN _graph_chains USING (trace_id, device, kind)
),
alike AS (
    SELECT a.trace_id, a.device, a.kind, b.kind AS other
    FROM kinds AS a
    JOIN kinds AS b
        ON b.trace_id = a.trace_id AND b.device = a.device
        AND list_has_any(b.names_and_calls, a.names_and_calls)
),
devices AS (
    SELECT trace_id, device, min(start_ns) AS start_ns, max(start_ns) AS last_ns
    FROM kernels
    SEMI JOIN (SELECT trace_id, device FROM kinds GROUP BY ALL HAVING count(*) > 1) AS several
        USING (trace_id, device)
    WHERE kind <> 'memory'
    GROUP BY trace_id, device
),
-- Replays of a kind of their own with which the work of the device begins or ends.
edges AS (
    SELECT
        k.trace_id, k.device, k.kind, g.start_ns = d.start_ns AS is_first,
        g.last_ns = d.last_ns AS is_last
    FROM kinds AS k
    JOIN _attending_graphs AS g
        ON g.trace_id = k.trace_id AND g.device = k.device AND g.launch_id = k.kind
    JOIN devices AS d ON d.trace_id = k.trace_id AND d.device = k.device
    WHERE len(k.launches) = 1 AND (g.start_ns = d.start_ns OR g.last_ns = d.last_ns)
),
sequences AS (
    SELECT
        k.trace_id, k.device, k.launch_id AS kind,
        list(k.name ORDER BY k.start_ns, k.kernel_id) AS names
    FROM kernels AS k
    JOIN _attending_graphs AS g
        ON g.trace_id = k.trace_id AND g.device = k.device AND g.launch_id = k.launch_id
        AND g.stream IS NOT DISTINCT FROM k.stream
    SEMI JOIN kinds ON kinds.trace_id = k.trace_id AND kinds.kind = k.launch_id
    SEMI JOIN edges ON edges.trace_id = k.trace_id AND edges.device = k.device
    GROUP BY k.trace_id, k.device, k.launch_id
),
pieces AS (
    SELECT e.trace_id, e.device, e.kind, whole.kind AS other
    FROM edges AS e
    JOIN sequences AS s
        ON s.trace_id = e.trace_id AND s.device = e.device AND s.kind = e.kind
    JOIN sequences AS whole
        ON whole.trace_id = e.trace_id AND whole.device = e.device
        AND len(whole.names) > len(s.names)
    -- One that shares enough with a whole graph needs no more.
    ANTI JOIN (
        SELECT trace_id, device, kind
        FROM alike
        ANTI JOIN (SELECT trace_id, device, kind AS other FROM edges) AS cut
            USING (trace_id, device, other)
    ) AS shared
        ON shared.trace_id = e.trace_id AND shared.device = e.device AND shared.kind = e.kind
    WHERE
        (e.is_last AND list_slice(whole.names, 1, len(s.names)) = s.names)
        OR (e.is_first AND list_slice(whole.names, -len(s.names), -1) = s.names)
),
whole_alike AS (
    SELECT a.trace_id, a.device, a.kind, a.other
    FROM alike AS a
    ANTI JOIN pieces AS p ON p.trace_id = a.trace_id AND p.device = a.device AND p.kind = a.kind
    ANTI JOIN pieces AS o ON o.trace_id = a.trace_id AND o.device = a.device AND o.kind = a.other
),
reached AS (
    SELECT trace_id, device, kind, other FROM whole_alike
    UNION
    SELECT reached.trace_id, reached.device, reached.kind, alike.other
    FROM reached
    JOIN whole_alike AS alike
        ON alike.trace_id = reached.trace_id AND alike.device = reached.device
        AND alike.kind = reached.other
),
whole_models AS (
    SELECT
        trace_id, device, kind,
        format('graph {}', dense_rank() OVER (PARTITION BY trace_id, device ORDER BY first_kind))
            AS series
    FROM (
        SELECT trace_id, device, kind, min(other) AS first_kind
        FROM reached
        GROUP BY trace_id, device, kind
    )
),
models AS (
    SELECT trace_id, device, kind, series FROM whole_models
    UNION ALL
    SELECT
        p.trace_id, p.device, p.kind,
        CASE WHEN count(DISTINCT w.series) = 1 THEN min(w.series) END
    FROM pieces AS p
    LEFT JOIN whole_models AS w
        ON w.trace_id = p.trace_id AND w.device = p.device AND w.kind = p.other
    GROUP BY p.trace_id, p.device, p.kind
)
SELECT g.trace_id, g.device, g.launch_id, g.launch_ns, m.series
FROM (
    SELECT trace_id, device, kind, unnest(launches) AS launch_id FROM kinds
) AS k
JOIN models AS m ON m.trace_id = k.trace_id AND m.device = k.device AND m.kind = k.kind
JOIN _attending_graphs AS g
    ON g.trace_id = k.trace_id AND g.device = k.device AND g.launch_id = k.launch_id;
