-- One row per device operation: what it has to compute and move, by shapes and annotations.
--
-- FLOP of an operator are counted once. Where one kernel does its work they are the kernel's; of
-- two that are known apart, as the two products of experts, each has its own; else they belong to
-- the group alone. The type that decides the peak is that of the operands where both are inputs of
-- the operator (FP32 by the kernel's name: TF32 or not), else what the kernel's name says, else the
-- type of the weights of the trace's model, else of the input, else BF16.
--
-- Reads other traces: those of _capture_links.
--
-- trace_id       VARCHAR  trace
-- rank           INTEGER  rank in the job, NULL when unknown
-- device         INTEGER  device
-- kernel_id      BIGINT   the operation
-- display_name   VARCHAR  its name, shortened
-- category       VARCHAR  its category
-- start_ns       BIGINT   start
-- end_ns         BIGINT   end
-- dur_ns         BIGINT   duration, ns
-- pass_id        BIGINT   pass, NULL outside of passes
-- layer_id       BIGINT   layer, NULL outside of layers
-- role           VARCHAR  operator or overhead
-- category_op    VARCHAR  operator or kind of overhead by the category
-- families       VARCHAR  families of operators whose work its category does
-- map_rule       VARCHAR  correlation, graph_capture, or NULL where no operator is known
-- op             VARCHAR  name of the operator that launched it
-- group_key      UBIGINT  equal for kernels of one call of an operator
-- is_worker      BOOLEAN  does work of the operator
-- is_combine     BOOLEAN  sums up what other kernels left
-- name_dtype     VARCHAR  type of the operands by the kernel's name
-- batch          BIGINT   products side by side
-- m              BIGINT   rows of a product's result, or queries
-- n              BIGINT   columns of it
-- k              BIGINT   inner dimension
-- flop           DOUBLE   FLOP of the kernel; NULL where unknown, or known of the group alone
-- bytes          DOUBLE   bytes it moves
-- bytes_note     VARCHAR  why its shapes do not tell them, see ascend_operators
-- group_flop     DOUBLE   FLOP of the operator
-- group_bytes    DOUBLE   bytes of the operator
-- flops_source   VARCHAR  shape, annotation, profiler, or none
-- dtype          VARCHAR  type it computes in, NULL for what multiplies nothing
-- dtype_source   VARCHAR  inputs, name, model, input or default
-- family         VARCHAR  family of the operator's rule, NULL where there is no rule
CREATE VIEW _kernel_works AS
WITH model_types AS (
    -- What the user said of the model tells the type of its weights.
    SELECT t.trace_id, any_value(a.weight_dtype) AS weight_dtype
    FROM traces AS t
    JOIN _trace_models AS m ON m.trace_id = t.trace_id
    JOIN architectures AS a ON a.model = m.model
    GROUP BY t.trace_id
),
joined AS (
    SELECT
        g.* EXCLUDE (kind, op_trace_id, op_id, work_id, group_id, group_ns, is_windowed),
        w.rule, w.family, w.batch, w.m, w.n, w.k, w.first_flop, w.dtype AS input_dtype,
        w.is_typed, w.a_type, mt.weight_dtype,
        -- What sums up is of the product that it ends.
        CASE
            WHEN g.is_combine
                THEN max(CASE WHEN g.is_worker AND NOT g.is_combine THEN g.fp32_dtype END)
                    OVER (PARTITION BY g.trace_id, g.device, g.group_key)
        END AS product_dtype,
        CASE
            WHEN w.pair_flop IS NULL THEN w.flop
            WHEN w.is_windowed OR g.is_windowed THEN NULL
            WHEN p.phase = 'decode' THEN p.pairs * w.decode_flop
            WHEN p.phase <> 'mixed' OR w.decode_flop = w.pair_flop THEN p.pairs * w.pair_flop
        END AS op_flop,
        CASE
            WHEN w.pair_flop IS NULL THEN w.bytes
            WHEN w.is_windowed OR g.is_windowed THEN NULL
            ELSE
                w.bytes
                + (p.new_tokens + coalesce(p.cached_tokens, 0)) * w.token_bytes
                -- New keys are an input, the cache that is read may be narrower.
                * CASE WHEN w.a_type = 'fp8' AND g.name_dtype = 'fp8' THEN 0.5 ELSE 1 END
        END AS op_bytes,
        w.pair_flop IS NOT NULL AS by_pass,
        a.flop AS own_flop, a.moved_bytes AS own_bytes, a.moved_note, a.m AS own_m, a.n AS own_n,
        a.k AS own_k, a.dtype AS own_dtype, nullif(told.flop, 0) AS told_flop,
        told.bytes AS told_bytes
    FROM _kernel_groups AS g
    LEFT JOIN operator_works AS w ON w.trace_id = g.op_trace_id AND w.work_id = g.work_id
    LEFT JOIN pass_workloads AS p
        ON p.trace_id = g.trace_id AND p.device IS NOT DISTINCT FROM g.device
        AND p.pass_id = g.pass_id
    LEFT JOIN ascend_operators AS a ON a.trace_id = g.trace_id AND a.kernel_id = g.kernel_id
    LEFT JOIN _told_works AS told ON told.trace_id = g.trace_id AND told.kernel_id = g.kernel_id
    LEFT JOIN model_types AS mt ON mt.trace_id = g.trace_id
)
SELECT
    trace_id, rank, device, kernel_id, display_name, category, start_ns, end_ns, dur_ns, pass_id,
    layer_id, role, category_op, families, map_rule, op, group_key, is_worker, is_combine,
    name_dtype, CASE WHEN is_worker THEN batch END AS batch,
    CASE WHEN is_worker THEN coalesce(m, own_m) END AS m,
    CASE WHEN is_worker THEN coalesce(n, own_n) END AS n,
    CASE WHEN is_worker THEN coalesce(k, own_k) END AS k,
    CAST(CASE
        WHEN NOT is_worker THEN NULL
        WHEN own_flop IS NOT NULL THEN own_flop
        WHEN told_flop IS NOT NULL THEN told_flop
        WHEN workers = 1 THEN op_flop
        WHEN workers = 2 AND first_flop IS NOT NULL AND NOT is_combine
            THEN CASE worker_place WHEN 1 THEN first_flop ELSE op_flop - first_flop END
    END AS DOUBLE) AS flop,
    CASE
        WHEN own_bytes IS NOT NULL THEN own_bytes
        WHEN told_bytes IS NOT NULL THEN told_bytes
        WHEN family = 'memory' THEN op_bytes
        WHEN is_worker AND workers = 1 THEN op_bytes
    END AS bytes,
    moved_note AS bytes_note,
    CAST(coalesce(own_flop, told_flop, op_flop) AS DOUBLE) AS group_flop,
    coalesce(own_bytes, told_bytes, op_bytes) AS group_bytes,
    CASE
        WHEN NOT is_worker THEN 'none'
        WHEN own_flop IS NOT NULL THEN 'shape'
        WHEN told_flop IS NOT NULL THEN 'profiler'
        WHEN op_flop IS NULL THEN 'none'
        WHEN by_pass THEN 'annotation'
        ELSE 'shape'
    END AS flops_source,
    CASE
        WHEN NOT is_worker OR coalesce(family, 'memory') = 'memory' AND own_flop IS NULL
            AND told_flop IS NULL THEN NULL
        WHEN own_dtype IS NOT NULL THEN own_dtype
        WHEN is_typed AND input_dtype = 'fp32'
            THEN coalesce(product_dtype, fp32_dtype, 'fp32')
        WHEN is_typed AND input_dtype IS NOT NULL THEN input_dtype
        WHEN name_dtype IS NOT NULL THEN name_dtype
        WHEN weight_dtype IS NOT NULL AND family = 'moe' THEN weight_dtype
        ELSE coalesce(input_dtype, weight_dtype, 'bf16')
    END AS dtype,
    CASE
        WHEN NOT is_worker OR coalesce(family, 'memory') = 'memory' AND own_flop IS NULL
            AND told_flop IS NULL THEN NULL
        WHEN own_dtype IS NOT NULL OR (is_typed AND input_dtype IS NOT NULL) THEN 'inputs'
        WHEN name_dtype IS NOT NULL THEN 'name'
        WHEN weight_dtype IS NOT NULL AND family = 'moe' THEN 'model'
        WHEN input_dtype IS NOT NULL THEN 'input'
        WHEN weight_dtype IS NOT NULL THEN 'model'
        ELSE 'default'
    END AS dtype_source,
    family
FROM joined;
