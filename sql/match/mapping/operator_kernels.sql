-- One row per device operation and operator of the model that it runs: the mapping between them.
--
-- A kernel of fused operators has a row for each; several kernels may run one operator. If the
-- trace's model is unknown, or a kernel runs none of its operators, there is one row with the known
-- columns. The first rule of map_rules that succeeds applies; none spreads time over operators.
--
-- key: trace_id, kernel_id, op?
--
-- trace_id     VARCHAR  trace
-- rank         INTEGER  rank in the job, NULL if unknown
-- device       INTEGER  device
-- pass_id      BIGINT   pass, NULL outside of passes
-- layer_id     BIGINT   layer, NULL outside of layers
-- kernel_id    BIGINT   the operation
-- map_rule     VARCHAR  how its operator was found: correlation, graph_capture, shape_match,
--                       position, category, unmapped, or overhead
-- confidence   DOUBLE   how far to trust the rule, 0 to 1
-- layer_kind   VARCHAR  kind of layer by the model
-- op           VARCHAR  operator, of the relation operators; else the kind of operator or of
--                       overhead; NULL if unknown
-- unit         VARCHAR  what engines run as one: the operator, or several fused
-- trace_op     VARCHAR  framework operator that launched it
-- flop_share   DOUBLE   the operator's part of the kernel's FLOP, by the template
-- group_id     BIGINT   kernel_id of the first kernel that does the operator's work
CREATE VIEW operator_kernels AS
WITH opened AS (
    SELECT
        trace_id, rank, device, pass_id, layer_id, kernel_id, map_rule, layer_kind, unit,
        trace_op, group_id, ops, op_flops,
        unnest(range(1, greatest(coalesce(len(ops), 1), 1) + 1)) AS nth
    FROM _kernel_maps
)
SELECT
    trace_id, rank, device, pass_id, layer_id, kernel_id, map_rule, confidence, layer_kind,
    coalesce(ops[nth], unit) AS op, unit, trace_op,
    CASE
        WHEN len(ops) > 1
            THEN coalesce(op_flops[nth] / nullif(list_sum(op_flops), 0), 1.0 / len(ops))
        ELSE 1.0
    END AS flop_share,
    group_id
FROM opened
JOIN map_rules USING (map_rule);
