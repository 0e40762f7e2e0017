-- One row per device operation whose operator is known: from its launch, or from the capture of the
-- graph that replayed it.
--
-- others: _capture_links
CREATE VIEW _kernel_leaves AS
WITH found AS (
    SELECT
        o.trace_id, o.kernel_id, o.trace_id AS op_trace_id, o.counted_op_id AS op_id,
        k.op_name, o.own_work_id,
        'correlation' AS map_rule
    FROM kernel_operators AS o
    JOIN kernels AS k ON k.trace_id = o.trace_id AND k.kernel_id = o.kernel_id
    UNION ALL
    SELECT trace_id, kernel_id, op_trace_id, op_id, op_name, own_work_id, 'graph_capture'
    FROM _replayed_ops
)
SELECT
    f.trace_id, f.kernel_id, f.op_trace_id, f.op_id, coalesce(l.op, f.op_name) AS op,
    coalesce(l.work_id, f.own_work_id) AS work_id, f.map_rule
FROM found AS f
LEFT JOIN counted_operators AS l ON l.trace_id = f.op_trace_id AND l.op_id = f.op_id
WHERE coalesce(l.op, f.op_name) IS NOT NULL
QUALIFY row_number() OVER (
    PARTITION BY f.trace_id, f.kernel_id ORDER BY f.map_rule DESC
) = 1;

-- One row per device operation: the operator it is part of, and the kernels that share its work.
--
-- Kernels launched by one operator are a group. Those whose category fits the operator's family do
-- its work, and so do kernels that sum up their partial results; the others prepare it. If no
-- category fits, all of them do the work. A kernel without an operator is a group of its own.
-- Operations that end before they start are left out, as in ops.
--
-- others: _capture_links
CREATE VIEW _kernel_groups AS
WITH known AS (
    SELECT
        k.trace_id, k.rank, k.device, k.kernel_id, k.display_name, k.category, k.kind, k.start_ns,
        k.end_ns, k.dur_ns, s.pass_id, s.layer_id,
        CASE WHEN k.kind = 'compute' THEN coalesce(c.role, 'operator') ELSE 'overhead' END AS role,
        CASE
            WHEN k.kind = 'communication' THEN 'communication'
            WHEN words.is_adapter THEN 'adapter'
            ELSE nullif(c.op, '')
        END AS category_op,
        l.map_rule, l.op, l.op_trace_id, l.op_id, l.work_id, works.families,
        CASE
            WHEN l.op_id IS NULL THEN hash(k.kernel_id)
            ELSE hash(
                l.op_trace_id, l.op_id,
                CASE WHEN l.map_rule = 'graph_capture' THEN k.launch_id END
            )
        END AS group_key,
        words.dtype AS name_dtype, words.fp32_dtype,
        coalesce(words.is_windowed, FALSE) AS is_windowed,
        coalesce(words.has_fp8_cache, FALSE) AS has_fp8_cache,
        coalesce(words.is_combine, FALSE) AS is_combine
    FROM kernels AS k
    LEFT JOIN _kernel_spots AS s ON s.trace_id = k.trace_id AND s.kernel_id = k.kernel_id
    LEFT JOIN operator_categories AS c ON c.category = k.category
    LEFT JOIN operator_categories AS works
        ON works.category
        = work_category(k.category, k.category_source, k.name_category, k.is_contradicted)
    LEFT JOIN _kernel_leaves AS l ON l.trace_id = k.trace_id AND l.kernel_id = k.kernel_id
    LEFT JOIN _kernel_words AS words ON words.trace_id = k.trace_id AND words.name = k.name
    WHERE k.end_ns >= k.start_ns
),
fitting AS (
    SELECT
        known.*,
        known.role = 'operator'
        AND (
            known.op_id IS NULL OR known.is_combine
            OR contains(known.families, leaves.family)
        ) AS fits
    FROM known
    LEFT JOIN counted_operators AS leaves
        ON leaves.trace_id = known.op_trace_id AND leaves.op_id = known.op_id
),
-- Windows over the few columns that they need: each column costs as much as the window itself.
working AS (
    SELECT
        trace_id, device, kernel_id, group_key, start_ns, dur_ns, fp32_dtype, is_combine,
        role = 'operator' AND (
            coalesce(fits, FALSE)
            OR NOT coalesce(bool_or(fits AND NOT is_combine) OVER one_call, FALSE)
        ) AS is_worker,
        bool_or(is_windowed) OVER one_call AS is_windowed,
        bool_or(has_fp8_cache) OVER one_call AS has_fp8_cache
    FROM fitting
    WHERE op_id IS NOT NULL
    WINDOW one_call AS (PARTITION BY trace_id, device, group_key)
),
grouped AS (
    SELECT
        trace_id, kernel_id, is_worker, is_windowed, has_fp8_cache,
        first_value(kernel_id) OVER in_order AS group_id,
        row_number() OVER in_order AS worker_place,
        count(CASE WHEN is_worker THEN 1 END) OVER one_call AS workers,
        CAST(sum(CASE WHEN is_worker THEN dur_ns ELSE 0 END) OVER one_call AS DOUBLE) AS group_ns,
        -- A kernel that sums up belongs to the product that it finishes.
        CASE
            WHEN is_combine
                THEN max(CASE WHEN is_worker AND NOT is_combine THEN fp32_dtype END) OVER one_call
        END AS product_dtype
    FROM working
    WINDOW
        in_order AS (
            PARTITION BY trace_id, device, group_key ORDER BY is_worker DESC, start_ns, kernel_id
        ),
        -- In the same order, so that rows are sorted once.
        one_call AS (
            PARTITION BY trace_id, device, group_key ORDER BY is_worker DESC, start_ns, kernel_id
            ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
        )
)
SELECT
    f.trace_id, f.rank, f.device, f.kernel_id, f.display_name, f.category, f.kind, f.start_ns,
    f.end_ns, f.dur_ns, f.pass_id, f.layer_id, f.role, f.category_op, f.map_rule, f.op,
    f.op_trace_id, f.op_id, f.work_id, f.families, f.group_key, f.is_combine, f.name_dtype,
    f.fp32_dtype, g.product_dtype,
    -- A kernel without an operator does not share its work.
    coalesce(g.group_id, f.kernel_id) AS group_id, coalesce(g.is_worker, f.fits) AS is_worker,
    coalesce(g.workers, CAST(f.fits AS BIGINT)) AS workers,
    coalesce(g.worker_place, 1) AS worker_place,
    coalesce(g.group_ns, if(f.fits, CAST(f.dur_ns AS DOUBLE), 0)) AS group_ns,
    coalesce(g.is_windowed, f.is_windowed) AS is_windowed,
    coalesce(g.has_fp8_cache, f.has_fp8_cache) AS has_fp8_cache
FROM fitting AS f
LEFT JOIN grouped AS g ON g.trace_id = f.trace_id AND g.kernel_id = f.kernel_id;

-- One row per device operation: what it must compute and move, by shapes and annotations.
--
-- FLOP of an operator are counted once. If one kernel does its work, they are the kernel's; if two
-- do and their parts are known, like the two products of experts, each has its own; else they
-- belong only to the group. The type that decides the peak is that of the operands where both are
-- inputs of the operator (FP32 by the kernel's name: TF32 or not), else that in the kernel's name,
-- else that of the input, else that of the weights of the trace's model, which comes before the
-- input's for experts, else BF16.
--
-- FLOP of attention by the pairs of the whole pass are unknown if a layer sees only some of the
-- keys, a window or those that an indexer chooses, according to its kernel's name or the trace's
-- model: how many of the pairs these are is not known.
--
-- others: _capture_links
--
-- trace_id       VARCHAR  trace
-- rank           INTEGER  rank in the job, NULL if unknown
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
-- category_op    VARCHAR  operator or kind of overhead by the category; adapter: product with the
--                         matrices of LoRA adapters, by the name
-- families       VARCHAR  families of operators whose work its category does
-- map_rule       VARCHAR  correlation, graph_capture, or NULL if no operator is known
-- op             VARCHAR  name of the operator that launched it
-- group_key      UBIGINT  equal for kernels of one call of an operator
-- group_id       BIGINT   kernel_id of the first of them that does work of the operator
-- workers        BIGINT   kernels of them that do
-- group_ns       DOUBLE   sum of their durations, ns
-- is_worker      BOOLEAN  does work of the operator
-- is_combine     BOOLEAN  sums up partial results of other kernels
-- name_dtype     VARCHAR  type of the operands by the kernel's name
-- own_dtype      VARCHAR  type of the operands of an Ascend product, attention or kernel of all of
--                         the experts' half by its row
-- batch          BIGINT   products side by side
-- m              BIGINT   rows of a product's result, or queries
-- n              BIGINT   columns of it
-- k              BIGINT   inner dimension
-- flop           DOUBLE   FLOP of the kernel; NULL if unknown, or known of the group alone
-- bytes          DOUBLE   bytes it moves
-- bytes_note     VARCHAR  why its shapes do not give them, see ascend_operators
-- bytes_bound    DOUBLE   most bytes by its shapes if they do not give them
-- group_flop     DOUBLE   FLOP of the operator
-- group_bytes    DOUBLE   bytes of the operator
-- flop_source    VARCHAR  shape, annotation, profiler, or none
-- dtype          VARCHAR  type it computes in, NULL for what multiplies nothing
-- dtype_source   VARCHAR  inputs, name, model, input or default
-- family         VARCHAR  family of the operator's rule, NULL if there is no rule
CREATE VIEW _kernel_works AS
WITH model_types AS (
    -- The user's settings for the model give the type of its weights.
    SELECT t.trace_id, any_value(a.weight_dtype) AS weight_dtype
    FROM traces AS t
    JOIN _trace_models AS m ON m.trace_id = t.trace_id
    JOIN of_passes.architectures AS a ON a.model = m.model
    GROUP BY t.trace_id
),
placed AS (
    SELECT
        g.*, p.phase, p.pairs, _pass_keys(p.new_tokens, p.cached_tokens, p.pairs) AS key_tokens,
        windows.seen_keys
    FROM _kernel_groups AS g
    LEFT JOIN pass_workloads AS p
        ON p.trace_id = g.trace_id AND p.device = g.device
        AND p.pass_id = g.pass_id
    LEFT JOIN _layer_windows AS windows
        ON windows.trace_id = g.trace_id AND windows.layer_id = g.layer_id
),
joined AS (
    SELECT
        g.* EXCLUDE (
            kind, op_trace_id, op_id, work_id, is_windowed, has_fp8_cache, phase, pairs, key_tokens,
            seen_keys
        ),
        w.rule, w.family, w.batch, w.m, w.n, w.k, w.first_flop, w.dtype AS input_dtype,
        w.is_typed, w.a_type, mt.weight_dtype,
        CASE
            WHEN w.pair_flop IS NULL THEN w.flop
            WHEN g.is_windowed OR least(w.seen_keys, g.seen_keys) < g.key_tokens THEN NULL
            WHEN g.phase = 'decode' THEN g.pairs * w.decode_flop
            WHEN g.phase IS DISTINCT FROM 'mixed' OR w.decode_flop = w.pair_flop
                THEN g.pairs * w.pair_flop
        END AS op_flop,
        CASE
            WHEN w.pair_flop IS NULL THEN w.bytes
            WHEN g.is_windowed OR least(w.seen_keys, g.seen_keys) < g.key_tokens THEN NULL
            ELSE
                w.bytes
                + g.key_tokens * _cached_bytes(
                    w.token_bytes, w.b_bytes,
                    g.has_fp8_cache OR (w.a_type = 'fp8' AND g.name_dtype = 'fp8')
                )
        END AS op_bytes,
        w.pair_flop IS NOT NULL AS by_pass,
        a.flop AS own_flop, a.moved_bytes AS own_bytes, a.moved_note, a.moved_bound,
        a.m AS own_m, a.n AS own_n, a.k AS own_k,
        -- Whole numbers of four bytes are packed weights, or no operands.
        CASE
            WHEN a.rule IS NOT NULL OR g.category_op = 'experts' THEN nullif(a.dtype, 'int32')
        END AS own_dtype,
        nullif(profiled.flop, 0) AS profiled_flop,
        profiled.bytes AS profiled_bytes, profiled.dtype AS profiled_dtype
    FROM placed AS g
    LEFT JOIN operator_works AS w ON w.trace_id = g.op_trace_id AND w.work_id = g.work_id
    LEFT JOIN ascend_operators AS a ON a.trace_id = g.trace_id AND a.kernel_id = g.kernel_id
    LEFT JOIN _profiled_works AS profiled
        ON profiled.trace_id = g.trace_id AND profiled.kernel_id = g.kernel_id
    LEFT JOIN model_types AS mt ON mt.trace_id = g.trace_id
)
SELECT
    trace_id, rank, device, kernel_id, display_name, category, start_ns, end_ns, dur_ns, pass_id,
    layer_id, role, category_op, families, map_rule, op, group_key, group_id, workers, group_ns,
    is_worker, is_combine, name_dtype, own_dtype, CASE WHEN is_worker THEN batch END AS batch,
    CASE WHEN is_worker THEN coalesce(m, own_m) END AS m,
    CASE WHEN is_worker THEN coalesce(n, own_n) END AS n,
    CASE WHEN is_worker THEN coalesce(k, own_k) END AS k,
    CAST(CASE
        WHEN NOT is_worker THEN NULL
        WHEN own_flop IS NOT NULL THEN own_flop
        WHEN profiled_flop IS NOT NULL THEN profiled_flop
        WHEN workers = 1 THEN op_flop
        WHEN workers = 2 AND first_flop IS NOT NULL AND NOT is_combine
            THEN CASE worker_place WHEN 1 THEN first_flop ELSE op_flop - first_flop END
    END AS DOUBLE) AS flop,
    CASE
        WHEN own_bytes IS NOT NULL THEN own_bytes
        WHEN profiled_bytes IS NOT NULL THEN profiled_bytes
        WHEN family = 'memory' THEN op_bytes
        WHEN is_worker AND workers = 1 THEN op_bytes
    END AS bytes,
    moved_note AS bytes_note, moved_bound AS bytes_bound,
    CAST(coalesce(own_flop, profiled_flop, op_flop) AS DOUBLE) AS group_flop,
    coalesce(own_bytes, profiled_bytes, op_bytes) AS group_bytes,
    CASE
        WHEN NOT is_worker THEN 'none'
        WHEN own_flop IS NOT NULL THEN 'shape'
        WHEN profiled_flop IS NOT NULL THEN 'profiler'
        WHEN op_flop IS NULL THEN 'none'
        WHEN by_pass THEN 'annotation'
        ELSE 'shape'
    END AS flop_source,
    CASE
        WHEN NOT is_worker OR coalesce(family, 'memory') = 'memory' AND own_flop IS NULL
            AND profiled_flop IS NULL THEN NULL
        WHEN coalesce(own_dtype, profiled_dtype) IS NOT NULL
            THEN coalesce(own_dtype, profiled_dtype)
        WHEN is_typed AND input_dtype = 'fp32'
            THEN coalesce(product_dtype, fp32_dtype, 'fp32')
        WHEN is_typed AND input_dtype IS NOT NULL THEN input_dtype
        WHEN name_dtype IS NOT NULL THEN name_dtype
        WHEN weight_dtype IS NOT NULL AND family = 'moe' THEN weight_dtype
        ELSE coalesce(input_dtype, weight_dtype, 'bf16')
    END AS dtype,
    CASE
        WHEN NOT is_worker OR coalesce(family, 'memory') = 'memory' AND own_flop IS NULL
            AND profiled_flop IS NULL THEN NULL
        WHEN coalesce(own_dtype, profiled_dtype, if(is_typed, input_dtype, NULL)) IS NOT NULL
            THEN 'inputs'
        WHEN name_dtype IS NOT NULL THEN 'name'
        WHEN weight_dtype IS NOT NULL AND family = 'moe' THEN 'model'
        WHEN input_dtype IS NOT NULL THEN 'input'
        WHEN weight_dtype IS NOT NULL THEN 'model'
        ELSE 'default'
    END AS dtype_source,
    family
FROM joined;
