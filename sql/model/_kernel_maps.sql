-- One row per device operation: how its operator is known, and its work, by the template where
-- shapes do not tell.
--
-- The template's FLOP count only where no kernel of the unit in the layer has FLOP of its own;
-- where several kernels of a layer run the unit, they are the group's. Attention has them only
-- where the pass tells its pairs.
--
-- Materialised per trace.
--
-- trace_id      VARCHAR    trace
-- rank          INTEGER    rank in the job, NULL when unknown
-- device        INTEGER    device
-- kernel_id     BIGINT     the operation
-- display_name  VARCHAR    its name, shortened
-- category      VARCHAR    its category
-- start_ns      BIGINT     start
-- end_ns        BIGINT     end
-- dur_ns        BIGINT     duration, ns
-- pass_id       BIGINT     pass
-- layer_id      BIGINT     layer
-- layer_kind    VARCHAR    kind of layer by the model; ends outside of layers
-- map_rule      VARCHAR    rule of map_rules
-- trace_op      VARCHAR    framework operator
-- unit          VARCHAR    operator of the model, or several fused, or kind of overhead
-- ops           VARCHAR[]  operators of the template; NULL without a template
-- op_flops      DOUBLE[]   FLOP of these by the template
-- part          BIGINT     part of the operator that the kernel runs
-- parts         BIGINT     parts that it runs in
-- family        VARCHAR    family of the operator's rule
-- batch         BIGINT     products side by side
-- m             BIGINT     rows
-- n             BIGINT     columns
-- k             BIGINT     inner dimension
-- flop          DOUBLE     FLOP of the kernel
-- bytes         DOUBLE     bytes it moves
-- bytes_note    VARCHAR    why its shapes do not tell them, see ascend_operators
-- flops_source  VARCHAR    shape, annotation, profiler, template or none
-- dtype         VARCHAR    type it computes in
-- dtype_source  VARCHAR    inputs, name, model, input, template or default
-- is_worker     BOOLEAN    does work of its operator
-- group_id      BIGINT     kernel_id of the first kernel that does work of the operator
-- workers       BIGINT     kernels that do
-- group_ns      BIGINT     sum of their durations, ns
-- group_flop    DOUBLE     FLOP of the operator
-- group_bytes   DOUBLE     bytes of the operator
CREATE VIEW _kernel_maps AS
WITH kinds AS (
    SELECT m.trace_id, l.layer_id, l.layer_kind
    FROM _trace_models AS m
    JOIN model_layers AS l ON l.model = m.model
),
joined AS (
    SELECT
        w.*,
        CASE
            WHEN w.pass_id IS NULL THEN NULL
            WHEN w.layer_id IS NULL THEN 'ends'
            ELSE kinds.layer_kind
        END AS layer_kind,
        u.rule AS unit_rule, coalesce(u.part, 1) AS part, coalesce(u.parts, 1) AS parts,
        CASE
            WHEN w.role = 'overhead' THEN w.category_op
            WHEN u.unit IS NOT NULL THEN u.unit
            WHEN w.is_worker AND w.family IN ('sdpa', 'attention') THEN 'attention'
            WHEN w.is_worker AND w.family = 'moe' THEN 'experts'
            ELSE w.category_op
        END AS unit,
        t.format IN ('ascend', 'jax') AS is_row
    FROM _kernel_works AS w
    JOIN traces AS t ON t.trace_id = w.trace_id
    LEFT JOIN _kernel_units AS u ON u.trace_id = w.trace_id AND u.kernel_id = w.kernel_id
    LEFT JOIN kinds ON kinds.trace_id = w.trace_id AND kinds.layer_id = w.layer_id
),
ruled AS (
    SELECT
        j.*,
        CASE
            WHEN j.role = 'overhead' THEN 'overhead'
            WHEN j.map_rule IS NOT NULL THEN j.map_rule
            WHEN j.is_row AND coalesce(j.unit_rule, '') <> 'shape_match' THEN 'correlation'
            WHEN j.unit_rule IS NOT NULL THEN j.unit_rule
            WHEN j.category_op IS NOT NULL AND j.pass_id IS NOT NULL THEN 'category'
            ELSE 'unmapped'
        END AS rule_used,
        CASE WHEN j.role = 'operator' THEN p.ops END AS ops,
        CASE WHEN j.role = 'operator' THEN p.flops END AS op_flops,
        -- By its unit, unless a kernel there tells better; what combines is no product apart.
        CASE
            WHEN j.role = 'operator' AND j.is_worker AND p.flop > 0
                AND (j.unit_rule IS NOT NULL OR j.family IS NOT NULL OR j.category_op = j.unit)
                AND (p.is_told OR NOT p.is_core)
                AND NOT bool_or(j.group_flop IS NOT NULL AND j.is_worker) OVER one_unit
                THEN p.flop / j.parts
        END AS template_flop,
        p.bytes / j.parts AS template_bytes, p.dtype AS template_dtype
    FROM joined AS j
    LEFT JOIN _pass_units AS p
        ON p.trace_id = j.trace_id AND p.device IS NOT DISTINCT FROM j.device
        AND p.pass_id = j.pass_id AND p.layer_kind = j.layer_kind AND p.unit = j.unit
    WINDOW one_unit AS (PARTITION BY j.trace_id, j.device, j.pass_id, j.layer_id, j.unit)
),
regrouped AS (
    SELECT
        *,
        CASE
            WHEN template_flop IS NULL THEN group_key
            ELSE hash(trace_id, device, pass_id, layer_id, unit, part)
        END AS final_key
    FROM ruled
),
counted AS (
    SELECT
        *,
        first_value(kernel_id) OVER (
            PARTITION BY trace_id, device, final_key ORDER BY is_worker DESC, start_ns, kernel_id
        ) AS final_id,
        count(CASE WHEN is_worker THEN 1 END) OVER one_group AS final_workers,
        CAST(sum(CASE WHEN is_worker THEN dur_ns ELSE 0 END) OVER one_group AS BIGINT) AS final_ns
    FROM regrouped
    WINDOW one_group AS (PARTITION BY trace_id, device, final_key)
)
SELECT
    trace_id, rank, device, kernel_id, display_name, category, start_ns, end_ns, dur_ns, pass_id,
    layer_id, layer_kind, rule_used AS map_rule, op AS trace_op, unit, ops, op_flops, part, parts,
    family, batch, m, n, k,
    CASE
        WHEN template_flop IS NULL THEN flop
        WHEN final_workers = 1 THEN template_flop
    END AS flop,
    CASE
        WHEN template_flop IS NULL OR bytes IS NOT NULL THEN bytes
        WHEN final_workers = 1 THEN template_bytes
    END AS bytes,
    bytes_note,
    CASE WHEN template_flop IS NULL THEN flops_source ELSE 'template' END AS flops_source,
    CASE
        WHEN template_flop IS NULL THEN dtype
        ELSE coalesce(name_dtype, template_dtype)
    END AS dtype,
    CASE
        WHEN template_flop IS NULL THEN dtype_source
        WHEN name_dtype IS NOT NULL THEN 'name'
        ELSE 'template'
    END AS dtype_source,
    is_worker, final_id AS group_id, final_workers AS workers, final_ns AS group_ns,
    coalesce(template_flop, group_flop) AS group_flop,
    CASE WHEN template_flop IS NULL THEN group_bytes ELSE template_bytes END AS group_bytes
FROM counted;
