-- One row per forward pass, kind of layer and unit that kernels may run: an operator of the
-- template, operators that engines fuse, or the products of routed experts together.
--
-- stored: per trace
--
-- trace_id      VARCHAR    trace
-- rank          INTEGER    rank in the job, NULL if unknown
-- device        INTEGER    device
-- pass_id       BIGINT     pass
-- tp            BIGINT     degree of tensor parallelism
-- layer_kind    VARCHAR    kind of layer; ends for what is outside of layers
-- unit          VARCHAR    operator, or the name of several together
-- ops           VARCHAR[]  the operators
-- flops         DOUBLE[]   FLOP of one rank in one layer, of each
-- flop          DOUBLE     their sum
-- bytes         DOUBLE     bytes of memory that a rank moves for them in one layer
-- dtype         VARCHAR    type that the one with most FLOP computes in
-- n             BIGINT     columns of the product that a rank holds, NULL if it is no product
-- k             BIGINT     inner dimension that a rank holds
-- op_seq        INTEGER    place of the first in the layer
-- is_fused      BOOLEAN    several operators that engines fuse
-- is_expert     BOOLEAN    product of routed experts
-- is_core       BOOLEAN    scores and values of attention
-- has_pairs     BOOLEAN    the pass has its pairs of query and key, on which attention depends
-- split_rule    VARCHAR    how ranks share the first of the operators
-- forward_flop  DOUBLE     FLOP of all ranks, in all layers of the kind
-- model_flop    DOUBLE     these, with those of the backward pass if it is_trained, as in
--                          _priced_scenarios: 3 times, attention 3.5
CREATE VIEW _pass_units AS
WITH singles AS (
    SELECT
        s.trace_id, s.rank, s.device, s.pass_id, s.tp, s.given_pairs IS NOT NULL AS has_pairs,
        o.layer_kind, o.op, o.op_seq, o.fused_op,
        o.category = 'moe' AS is_expert, o.category = 'attention_core' AS is_core, o.split_rule,
        coalesce(o.flop_rank, 0) AS flop, o.dtype,
        o.weight_bytes + o.activation_bytes + o.kv_bytes + o.temporary_bytes AS bytes,
        CASE WHEN o.flop > 0 AND o.category <> 'attention_core' THEN o.n_rank END AS n,
        CASE WHEN o.flop > 0 AND o.category <> 'attention_core' THEN o.k_rank END AS k,
        o.flop * o.layers AS forward_flop,
        forward_flop * CASE
            WHEN NOT s.is_trained THEN 1.0
            WHEN o.category = 'attention_core' THEN 3.5
            ELSE 3.0
        END AS model_flop
    FROM _pass_scenarios AS s
    JOIN of_passes.operators AS o ON o.scenario = s.scenario
    WHERE o.layer_kind <> 'mtp' AND o.category <> 'network'
),
named AS (
    SELECT
        *,
        unnest(list_filter(
            [
                {'unit': op, 'fuses': FALSE}, {'unit': fused_op, 'fuses': TRUE},
                {'unit': CASE WHEN is_expert THEN 'experts' END, 'fuses': FALSE}
            ],
            LAMBDA u: u.unit IS NOT NULL
        )) AS called
    FROM singles
)
SELECT
    trace_id, rank, device, pass_id, tp, layer_kind, called.unit, list(op ORDER BY op_seq) AS ops,
    list(flop ORDER BY op_seq) AS flops, sum(flop) AS flop, sum(bytes) AS bytes,
    arg_max(dtype, (flop, dtype)) AS dtype,
    -- One product reads the same rows: its operators share the inner dimension, side by side.
    CASE
        WHEN count(DISTINCT k) = 1 AND called.unit <> 'experts' THEN CAST(sum(n) AS BIGINT)
    END AS n,
    CASE WHEN count(DISTINCT k) = 1 AND called.unit <> 'experts' THEN any_value(k) END AS k,
    min(op_seq) AS op_seq, bool_or(called.fuses) AND count(*) > 1 AS is_fused,
    bool_or(is_expert) AS is_expert, bool_or(is_core) AS is_core,
    bool_and(has_pairs) AS has_pairs,
    arg_min(split_rule, op_seq) AS split_rule, CAST(sum(forward_flop) AS DOUBLE) AS forward_flop,
    CAST(sum(model_flop) AS DOUBLE) AS model_flop
FROM named
GROUP BY trace_id, rank, device, pass_id, tp, layer_kind, called.unit;
