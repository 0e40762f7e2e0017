-- One row per scenario of a model report's sweeps: the anchor of a phase with every combination of
-- other values of some settings.
-- scenario          VARCHAR  its name
-- study             VARCHAR  study of the report
-- formulas          VARCHAR  formulas
-- model             VARCHAR  model
-- phase             VARCHAR  training, prefill or decode
-- batch             BIGINT   sequences of a replica
-- seq_len           BIGINT   new tokens of each
-- kv_len            BIGINT   cached tokens of each
-- tp                BIGINT   degree of tensor parallelism
-- ep                BIGINT   degree of expert parallelism
-- dp                BIGINT   data-parallel replicas
-- pp                BIGINT   pipeline stages
-- hardware          VARCHAR  chip
-- execution         VARCHAR  execution profile
-- weight_dtype      VARCHAR  type of weights; NULL: as published
-- activation_dtype  VARCHAR  type of activations; NULL: open
-- kv_dtype          VARCHAR  type of the KV cache; NULL: as published, else as activations
-- head_dtype        VARCHAR  type of the output head and the router; NULL: by the rest
-- top_k             BIGINT   experts per token; NULL: as published
-- hidden_scale      DOUBLE   times the hidden width
-- kv_rank_scale     DOUBLE   times the rank of the KV cache
CREATE VIEW _asked_sweeps AS
WITH work AS (
    SELECT
        w.batch, w.seq_len, w.kv_len, w.tp, w.ep, w.main, w.tp_shares_experts, w.batches,
        w.frontier_batches, num_experts, kv_lora_rank,
        list_filter(
            [2048, 4096, 8192, 16384],
            lambda length: length <= coalesce(nullif(max_positions, 0), length)
        ) AS caches,
        list_filter(
            [64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768],
            lambda length: length <= coalesce(nullif(max_positions, 0), length)
        ) AS prompts,
        list_filter(
            list_transform(range(0, 31), lambda n: CAST(pow(2, n) AS BIGINT)),
            lambda rank: rank <= greatest(num_experts, 1)
        ) AS ranks
    FROM _report_workload AS w
    JOIN architectures AS a ON a.model = w.model
),
points AS (
    SELECT
        'batch' AS study, 'decode' AS phase, FALSE AS only_main,
        unnest(list_distinct(list_append(batches, batch))) AS batch
    FROM work
    UNION ALL BY NAME
    SELECT
        'prompt' AS study, 'prefill' AS phase, FALSE AS only_main,
        unnest(list_distinct(list_append(prompts, seq_len))) AS seq_len
    FROM work
    UNION ALL BY NAME
    SELECT
        'frontier' AS study, 'decode' AS phase, TRUE AS only_main,
        eps.ep, kv_lens.kv_len, tried.batch
    FROM work
    CROSS JOIN unnest(list_distinct(list_append(ranks, work.ep))) AS eps (ep)
    CROSS JOIN unnest(list_distinct(list_append(caches, work.kv_len))) AS kv_lens (kv_len)
    CROSS JOIN unnest(
        CASE WHEN len(frontier_batches) > 0 THEN frontier_batches ELSE [work.batch] END
    ) AS tried (batch)
    UNION ALL BY NAME
    SELECT 'layout' AS study, 'decode' AS phase, TRUE AS only_main, tps.tp, eps.ep
    FROM work
    CROSS JOIN unnest(list_distinct([1, 2, 4, 8, work.tp])) AS tps (tp)
    CROSS JOIN unnest(list_distinct(list_append(ranks, work.ep))) AS eps (ep)
    UNION ALL BY NAME
    SELECT
        'grid' AS study, 'decode' AS phase, FALSE AS only_main,
        kv_dtype, top_k, kv_rank_scale, hidden_scale, lengths.kv_len
    FROM work
    CROSS JOIN unnest(['fp8', 'bf16']) AS kv_dtypes (kv_dtype)
    -- A dense model has no experts to choose: one point, as published.
    CROSS JOIN unnest(
        CASE
            WHEN num_experts < 2 THEN [NULL]
            ELSE list_filter([2, 4, 8], lambda k: k <= num_experts)
        END
    ) AS top_ks (top_k)
    CROSS JOIN unnest(
        CASE WHEN kv_lora_rank IS NULL THEN [1.0] ELSE [0.5, 1.0, 1.5] END
    ) AS kv_rank_scales (kv_rank_scale)
    CROSS JOIN unnest([0.75, 1.0, 1.25]) AS hidden_scales (hidden_scale)
    CROSS JOIN unnest(caches) AS lengths (kv_len)
)
SELECT
    concat_ws(
        ' / ', 'report ' || p.study, a.execution, 'tp ' || p.tp, 'ep ' || p.ep,
        'kv_dtype ' || p.kv_dtype, 'top_k ' || p.top_k, 'kv_rank_scale ' || p.kv_rank_scale,
        'hidden_scale ' || p.hidden_scale, 'kv_len ' || p.kv_len, 'batch ' || p.batch,
        'seq_len ' || p.seq_len
    ) AS scenario,
    'report ' || p.study AS study, a.formulas, a.model, a.phase,
    coalesce(p.batch, a.batch) AS batch, coalesce(p.seq_len, a.seq_len) AS seq_len,
    coalesce(p.kv_len, a.kv_len) AS kv_len, coalesce(p.tp, a.tp) AS tp, coalesce(p.ep, a.ep) AS ep,
    -- Every rank that is not shared has sequences of its own, as at the anchor.
    CASE
        WHEN coalesce(p.tp, a.tp) = a.tp AND coalesce(p.ep, a.ep) = a.ep THEN a.dp
        ELSE _replicas(coalesce(p.tp, a.tp), coalesce(p.ep, a.ep), tp_shares_experts)
    END AS dp,
    a.pp, a.hardware, a.execution, a.weight_dtype, a.activation_dtype,
    coalesce(p.kv_dtype, a.kv_dtype) AS kv_dtype, a.head_dtype, CAST(p.top_k AS BIGINT) AS top_k,
    CAST(coalesce(p.hidden_scale, 1) AS DOUBLE) AS hidden_scale,
    CAST(coalesce(p.kv_rank_scale, 1) AS DOUBLE) AS kv_rank_scale
FROM _asked_anchor AS a
CROSS JOIN work
JOIN points AS p ON p.phase = a.phase AND (a.execution = main OR NOT p.only_main)
WHERE a.study = 'report anchor';
