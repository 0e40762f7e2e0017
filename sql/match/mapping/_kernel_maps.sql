-- One row per kernel of a forward pass that runs a matrix product of the template: identified by
-- the product's columns and inner dimension, else by position.
--
-- In a layer, a product of fused operators, or a whole one, replaces its parts if a kernel has its
-- shape. Products of one shape are matched by their order in the layer. If it has kernels of
-- experts, these alone run the products of routed experts, and no others: a shared expert of their
-- shape may run before, beside or after them. If no kernel of a layer has a shape, and there are as
-- many kernels as fused products or as single ones, each is matched by its position; the products
-- of experts are counted separately, those of LoRA adapters, which no template has, not at all. So
-- is each if there are as many as fused ones without those of the shared experts, which engines
-- append to the routed ones.
-- Outside of layers, further products of the shape run the same operator while they have rows of
-- the pass for the head: its chunks.
CREATE VIEW _kernel_units AS
WITH units AS MATERIALIZED (
    SELECT trace_id, device, pass_id, layer_kind, n, k, unit, ops, op_seq, is_fused, is_expert
    FROM _pass_units
    WHERE n IS NOT NULL
),
slots AS (
    -- Products that run whole, or in equal parts.
    SELECT
        u.trace_id, u.device, u.pass_id, u.layer_kind, u.n // s.parts AS n, u.k, u.unit, u.ops,
        u.op_seq, u.is_fused, u.is_expert, unnest(range(1, 1 + s.parts)) AS part, s.parts
    FROM units AS u
    JOIN (
        SELECT CAST(NULL AS VARCHAR) AS op, 1 AS parts
        UNION ALL
        SELECT op, parts FROM operator_parts
    ) AS s ON coalesce(s.op, u.unit) = u.unit
),
fusing AS (
    SELECT trace_id, device, pass_id, layer_kind, unnest(ops) AS op FROM units WHERE is_fused
),
expected AS (
    -- Whole products, fused as engines do, and single; and the fused ones without shared experts.
    SELECT
        e.trace_id, e.device, e.pass_id, e.layer_kind, e.unit, e.is_expert, e.fuses, v.has_shared,
        count(*) OVER one_kind AS products, row_number() OVER (one_kind ORDER BY op_seq) AS place
    FROM (
        SELECT u.*, TRUE AS fuses
        FROM units AS u
        ANTI JOIN fusing AS f
            ON f.trace_id = u.trace_id AND f.device = u.device
            AND f.pass_id = u.pass_id AND f.layer_kind = u.layer_kind AND f.op = u.unit
        UNION ALL
        SELECT *, FALSE FROM units WHERE NOT is_fused
    ) AS e
    JOIN (VALUES (TRUE), (FALSE)) AS v (has_shared)
        ON v.has_shared OR (e.fuses AND NOT e.is_expert AND NOT starts_with(e.unit, 'shared_'))
    WINDOW
        one_kind AS (
            PARTITION BY
                e.trace_id, e.device, e.pass_id, e.layer_kind, e.is_expert, e.fuses, v.has_shared
        )
),
running AS (
    -- Kernels that may run a product: by the operator's family, else by their category.
    SELECT
        w.trace_id, w.device, w.pass_id, w.layer_id, w.kernel_id, w.start_ns, w.m, w.n, w.k,
        coalesce(kinds.layer_kind, 'ends') AS layer_kind,
        coalesce(w.family = 'moe', w.category_op = 'experts', FALSE) AS is_expert
    FROM _kernel_works AS w
    LEFT JOIN _pass_layers AS kinds
        ON kinds.trace_id = w.trace_id AND kinds.device = w.device
        AND kinds.pass_id = w.pass_id AND kinds.layer_id = w.layer_id
    WHERE
        w.pass_id IS NOT NULL AND w.is_worker AND NOT w.is_combine
        AND w.category_op IS DISTINCT FROM 'adapter'
        AND (w.layer_id IS NULL OR kinds.layer_kind IS NOT NULL)
        AND (w.family IN ('product', 'moe') OR (w.family IS NULL AND (
            contains(w.families, 'product') OR w.category_op = 'experts'
        )))
),
placed AS (
    SELECT
        *, count(n) OVER one_layer AS shaped, count(*) OVER one_layer AS products,
        row_number() OVER (one_layer ORDER BY start_ns, kernel_id) AS place,
        bool_or(is_expert) OVER (PARTITION BY trace_id, device, pass_id, layer_id)
            AS has_experts,
        row_number() OVER one_shape AS turn, sum(m) OVER one_shape AS rows_so_far
    FROM running
    WINDOW
        one_layer AS (PARTITION BY trace_id, device, pass_id, layer_id, is_expert),
        one_shape AS (
            PARTITION BY trace_id, device, pass_id, layer_id, is_expert, n, k
            ORDER BY start_ns, kernel_id
        )
),
candidates AS (
    SELECT
        p.trace_id, p.device, p.pass_id, p.layer_id, p.kernel_id, p.is_expert, p.n, p.k, p.turn,
        s.unit, s.ops, s.part, s.parts, s.op_seq, s.is_fused, e.unit AS place_unit, e.fuses,
        e.has_shared,
        coalesce(p.layer_id IS NULL AND p.rows_so_far <= work.logit_rows, FALSE) AS is_chunk
    FROM placed AS p
    LEFT JOIN pass_workloads AS work
        ON work.trace_id = p.trace_id AND work.device = p.device AND work.pass_id = p.pass_id
    LEFT JOIN slots AS s
        ON s.trace_id = p.trace_id AND s.device = p.device
        AND s.pass_id = p.pass_id AND s.layer_kind = p.layer_kind AND s.n = p.n AND s.k = p.k
        AND (s.is_expert = p.is_expert OR NOT p.has_experts)
    LEFT JOIN expected AS e
        ON e.trace_id = p.trace_id AND e.device = p.device
        AND e.pass_id = p.pass_id AND e.layer_kind = p.layer_kind
        AND e.is_expert = p.is_expert AND e.products = p.products AND e.place = p.place
        AND p.shaped = 0 AND (e.has_shared OR p.has_experts)
    WHERE s.unit IS NOT NULL OR e.unit IS NOT NULL
),
weighed AS (
    SELECT
        *,
        flatten(list(CASE WHEN is_fused THEN ops ELSE [] END) OVER (
            PARTITION BY trace_id, device, pass_id, layer_id
        )) AS fused_here,
        bool_or(parts = 1) OVER (PARTITION BY trace_id, device, pass_id, layer_id, unit)
            AS is_whole_here
    FROM candidates
),
open_slots AS (
    SELECT
        *,
        dense_rank() OVER (
            PARTITION BY trace_id, device, pass_id, layer_id, is_expert, n, k
            ORDER BY op_seq, part, unit
        ) AS slot
    FROM weighed
    WHERE
        place_unit IS NOT NULL OR is_fused
        OR NOT (list_contains(fused_here, unit) OR (parts > 1 AND is_whole_here))
)
SELECT
    trace_id, kernel_id, coalesce(unit, place_unit) AS unit, coalesce(part, 1) AS part,
    coalesce(parts, 1) AS parts, CASE WHEN unit IS NULL THEN 'position' ELSE 'shape_match' END
    AS rule
FROM open_slots
WHERE unit IS NULL OR turn = slot OR (is_chunk AND slot = 1)
QUALIFY row_number() OVER (
    PARTITION BY trace_id, kernel_id ORDER BY turn <> slot, unit, has_shared DESC, fuses DESC
) = 1;

-- One row per device operation: how its operator is identified, and its work, from the template if
-- shapes do not give it.
--
-- The template's FLOP are used only if no kernel of the unit in the layer has FLOP of its own; if
-- several kernels of a layer run the unit, they are the group's. Attention has them only if the
-- pairs of the pass are known. Their type is that of the operands in the kernel's own row (Ascend),
-- else in its name, else the template's.
--
-- stored: per trace
--
-- trace_id      VARCHAR    trace
-- rank          INTEGER    rank in the job, NULL if unknown
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
-- unit          VARCHAR    operator of the model, or several fused, adapter, or kind of overhead
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
-- bytes_note    VARCHAR    why its shapes do not give them, see ascend_operators
-- flop_source   VARCHAR    shape, annotation, profiler, template or none
-- dtype         VARCHAR    type it computes in
-- dtype_source  VARCHAR    inputs, name, model, input, template or default
-- is_worker     BOOLEAN    does work of its operator
-- group_id      BIGINT     kernel_id of the first kernel that does work of the operator
-- workers       BIGINT     kernels that do
-- group_ns      DOUBLE   sum of their durations, ns
-- group_flop    DOUBLE     FLOP of the operator
-- group_bytes   DOUBLE     bytes of the operator
CREATE VIEW _kernel_maps AS
WITH joined AS (
    SELECT
        w.*,
        CASE
            WHEN w.pass_id IS NULL THEN NULL
            WHEN w.layer_id IS NULL THEN 'ends'
            ELSE kinds.layer_kind
        END AS layer_kind,
        u.rule AS unit_rule, coalesce(u.part, 1) AS part, coalesce(u.parts, 1) AS parts,
        CASE
            WHEN w.category = 'memcpy' AND (
                contains(w.display_name, 'HtoD') OR contains(w.display_name, 'H2D')
                OR contains(w.display_name, 'HostToDevice') OR starts_with(w.display_name, 'infeed')
            ) THEN 'copy HtoD'
            WHEN w.category = 'memcpy' AND (
                contains(w.display_name, 'DtoH') OR contains(w.display_name, 'D2H')
                OR contains(w.display_name, 'DeviceToHost')
                OR starts_with(w.display_name, 'outfeed')
            ) THEN 'copy DtoH'
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
    LEFT JOIN _pass_layers AS kinds
        ON kinds.trace_id = w.trace_id AND kinds.device = w.device
        AND kinds.pass_id = w.pass_id AND kinds.layer_id = w.layer_id
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
        -- A kernel that combines results is not a separate product.
        CASE
            WHEN j.role = 'operator' AND j.is_worker AND p.flop > 0
                AND (j.unit_rule IS NOT NULL OR j.family IS NOT NULL OR j.category_op = j.unit)
                AND (p.has_pairs OR NOT p.is_core)
                THEN p.flop / j.parts
        END AS unit_flop,
        p.bytes / j.parts AS template_bytes, p.dtype AS template_dtype
    FROM joined AS j
    LEFT JOIN _pass_units AS p
        ON p.trace_id = j.trace_id AND p.device = j.device
        AND p.pass_id = j.pass_id AND p.layer_kind = j.layer_kind AND p.unit = j.unit
),
measured AS (
    -- Units with a kernel whose own FLOP take precedence over the template's.
    SELECT DISTINCT trace_id, device, pass_id, layer_id, unit
    FROM ruled
    SEMI JOIN (
        SELECT DISTINCT trace_id, pass_id FROM ruled WHERE unit_flop IS NOT NULL
    ) AS passes USING (trace_id, pass_id)
    WHERE group_flop IS NOT NULL AND is_worker
),
templated AS (
    SELECT
        ruled.*, CASE WHEN measured.trace_id IS NULL THEN ruled.unit_flop END AS template_flop
    FROM ruled
    LEFT JOIN measured
        ON measured.trace_id = ruled.trace_id AND measured.device = ruled.device
        AND measured.pass_id = ruled.pass_id AND measured.unit = ruled.unit
        AND coalesce(measured.layer_id, -1) = coalesce(ruled.layer_id, -1)
),
parted AS (
    -- Groups that lose kernels to a unit.
    SELECT DISTINCT trace_id, device, group_key FROM templated WHERE template_flop IS NOT NULL
),
regrouped AS (
    SELECT
        *,
        CASE
            WHEN template_flop IS NULL THEN group_key
            ELSE hash(trace_id, device, pass_id, layer_id, unit, part)
        END AS final_key
    FROM templated
    SEMI JOIN parted USING (trace_id, device, group_key)
),
counted AS (
    SELECT
        * EXCLUDE (final_key),
        first_value(kernel_id) OVER (
            PARTITION BY trace_id, device, final_key ORDER BY is_worker DESC, start_ns, kernel_id
        ) AS final_id,
        count(CASE WHEN is_worker THEN 1 END) OVER one_group AS final_workers,
        CAST(sum(CASE WHEN is_worker THEN dur_ns ELSE 0 END) OVER one_group AS DOUBLE) AS final_ns
    FROM regrouped
    WINDOW one_group AS (PARTITION BY trace_id, device, final_key)
    UNION ALL
    SELECT *, group_id, workers, group_ns
    FROM templated
    ANTI JOIN parted USING (trace_id, device, group_key)
),
bounded AS (
    -- The weights in an Ascend row are those of the rank's experts, whatever is set as EP.
    SELECT
        * REPLACE (
            if(final_workers = 1, least(template_bytes, bytes_bound), template_bytes)
                AS template_bytes
        )
    FROM counted
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
    CASE WHEN template_flop IS NULL THEN flop_source ELSE 'template' END AS flop_source,
    CASE
        WHEN template_flop IS NULL THEN dtype
        ELSE coalesce(own_dtype, name_dtype, template_dtype)
    END AS dtype,
    CASE
        WHEN template_flop IS NULL THEN dtype_source
        WHEN own_dtype IS NOT NULL THEN 'inputs'
        WHEN name_dtype IS NOT NULL THEN 'name'
        ELSE 'template'
    END AS dtype_source,
    is_worker, final_id AS group_id, final_workers AS workers, final_ns AS group_ns,
    coalesce(template_flop, group_flop) AS group_flop,
    CASE WHEN template_flop IS NULL THEN group_bytes ELSE template_bytes END AS group_bytes
FROM bounded;
