-- One row per kind of graph that runs a model of one layer several times, one draft after another
-- (EAGLE): each attention follows the last one's head. From one to the next there are a gather, a
-- product and a softmax or a choice more than in the graph with the most attentions: a token is
-- drawn and enters.
--
-- stored: meanwhile
--
-- trace_id  VARCHAR  trace
-- device    INTEGER  device
-- kind      BIGINT   first launch of the kind
CREATE VIEW _graph_chains AS
WITH kinds AS (
    SELECT trace_id, device, kind
    FROM _graph_kinds
    QUALIFY count(*) OVER (PARTITION BY trace_id, device) > 1
),
-- The attention that runs most often: split attention and its merge run equally often.
attentions AS (
    SELECT
        k.trace_id, k.device, k.launch_id AS kind, count(*) - 1 AS distances,
        min(k.start_ns) AS first_ns, max(k.start_ns) AS last_ns
    FROM kernels AS k
    JOIN kinds AS g ON g.trace_id = k.trace_id AND g.device = k.device AND g.kind = k.launch_id
    JOIN anchor_roles AS r ON r.category = k.category
    WHERE r.role = 'inside'
    GROUP BY k.trace_id, k.device, k.launch_id, k.name
    QUALIFY row_number() OVER (
        PARTITION BY k.trace_id, k.device, k.launch_id ORDER BY count(*) DESC, min(k.start_ns)
    ) = 1
),
between_attentions AS (
    SELECT
        a.trace_id, a.device, a.kind, any_value(a.distances) AS distances,
        count(*) FILTER (k.category IN ('index', 'embedding')) / any_value(a.distances) AS gathers,
        count(*) FILTER (starts_with(k.category, 'gemm')) / any_value(a.distances) AS products,
        count(*) FILTER (k.category IN ('softmax', 'topk', 'sampling', 'sort', 'reduce'))
            / any_value(a.distances) AS choices
    FROM attentions AS a
    JOIN kernels AS k
        ON k.trace_id = a.trace_id AND k.device = a.device AND k.launch_id = a.kind
    WHERE k.start_ns BETWEEN a.first_ns AND a.last_ns AND a.distances > 0
    GROUP BY a.trace_id, a.device, a.kind
)
SELECT trace_id, device, kind
FROM between_attentions
WINDOW by_length AS (PARTITION BY trace_id, device ORDER BY distances DESC, kind)
QUALIFY
    gathers >= 1 + first_value(gathers) OVER by_length
    AND products >= 1 + first_value(products) OVER by_length
    AND choices >= 1 + first_value(choices) OVER by_length;
