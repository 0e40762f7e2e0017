-- The name of the scenario for a forward pass.
CREATE MACRO _pass_scenario(trace_id, rank, device, pass_id) AS
concat_ws('/', trace_id, coalesce(rank, 0), coalesce(device, 0), pass_id);

-- One row per forward pass whose trace's model is known: its scenario, with the columns of
-- _scenario_rows. Its name is made of trace, rank, device and pass, joined by /.
--
-- Only sums over the requests are known: all but one are assumed to be alike and the last has the
-- rest, so that new and cached tokens are exact; pairs are as given.
--
-- If other passes of the trace have as many layers as the model, passes of a different number, with
-- or without its layers of multi-token prediction, are another model's, as those of drafts are, and
-- have no row. If none has, they may be of pipeline stages or of a truncated model.
--
-- instead of: of_passes._scenario_rows
--
-- scenario_no       BIGINT    number of the row, below 0
-- scenario          VARCHAR   name
-- study             VARCHAR   passes
-- formulas          VARCHAR   physical
-- model             VARCHAR   model
-- phase             VARCHAR   prefill or decode; whole sequences of an unknown phase are computed
--                             as a prefill, and so is the forward pass of a training step, whose
--                             backward kernels are in no layer
-- batch             BIGINT    sequences of a replica
-- seq_len           BIGINT    new tokens of each
-- kv_len            BIGINT    cached tokens of each
-- requests          STRUCT[]  groups of equal requests
-- logit_rows        BIGINT    rows of the output head, where given
-- given_pairs       BIGINT    pairs of query and key, where a trace has them; else NULL
-- tp                BIGINT    degree of tensor parallelism
-- ep                BIGINT    degree of expert parallelism
-- dp                BIGINT    replicas
-- pp                BIGINT    pipeline stages
-- cp                BIGINT    context-parallel ranks
-- head_tp           BIGINT    ranks that share the output head, where given
-- microbatches      BIGINT    microbatches of a training step
-- virtual_stages    BIGINT    parts of the layers that a stage holds
-- zero_stage        BIGINT    what replicas share: 1 optimizer's state, 2 gradients, 3 weights too
-- recompute         BOOLEAN   the forward pass is computed again
-- hardware          VARCHAR   chip
-- execution         VARCHAR   execution profile
-- weight_dtype      VARCHAR   type of weights, where given
-- activation_dtype  VARCHAR   type of activations, where given
-- kv_dtype          VARCHAR   type of the KV cache, where given
-- gemm_dtype        VARCHAR   type the linear layers compute in, where given
-- head_dtype        VARCHAR   type of weights of the head and the router, where given
-- mla_mode          VARCHAR   absorbed, expanded or auto
-- mtp_layers        BIGINT    layers of multi-token prediction that run
-- top_k             BIGINT    experts per token, where given
-- hidden_scale      DOUBLE    hidden width over the model's
-- kv_rank_scale     DOUBLE    width of compressed keys and values over the model's
-- expert_imbalance  DOUBLE    busiest rank over the mean
-- trace_id          VARCHAR   trace
-- rank              INTEGER   rank in the job
-- device            INTEGER   device
-- pass_id           BIGINT    pass
-- is_trained        BOOLEAN   its backward kernels follow it in the same pass
CREATE VIEW _pass_scenarios AS
WITH loads AS (
    SELECT
        p.trace_id, p.rank, p.device, p.pass_id, p.phase, f.direction, m.model,
        coalesce(p.requests, 1) AS batch, p.new_tokens,
        coalesce(p.cached_tokens, 0) AS cached_tokens, p.logit_rows, p.pairs,
        CAST(coalesce(t.tp, 1) AS BIGINT) AS tp, CAST(coalesce(t.ep, 1) AS BIGINT) AS ep,
        CAST(coalesce(t.dp, 1) AS BIGINT) AS dp, CAST(coalesce(t.pp, 1) AS BIGINT) AS pp,
        t.hardware, coalesce(t.num_layers, a.num_layers) AS model_layers,
        f.num_layers IN (model_layers, model_layers + coalesce(a.mtp_layers, 0)) AS is_fitting
    FROM pass_workloads AS p
    JOIN _trace_models AS m ON m.trace_id = p.trace_id
    JOIN of_passes.architectures AS a ON a.model = m.model
    JOIN traces AS t ON t.trace_id = p.trace_id
    JOIN passes AS f
        ON f.trace_id = p.trace_id AND f.device = p.device AND f.pass_id = p.pass_id
    QUALIFY
        p.new_tokens > 0
        AND (coalesce(is_fitting, TRUE) OR NOT bool_or(is_fitting) OVER (PARTITION BY p.trace_id))
)
SELECT
    -1 - CAST(hash(trace_id, rank, device, pass_id) // 4 AS BIGINT) AS scenario_no,
    _pass_scenario(trace_id, rank, device, pass_id) AS scenario, 'passes' AS study,
    'physical' AS formulas, model,
    CASE WHEN phase = 'decode' THEN phase ELSE 'prefill' END AS phase, batch,
    new_tokens // batch AS seq_len, cached_tokens // batch AS kv_len,
    CASE
        WHEN new_tokens % batch + cached_tokens % batch > 0
            THEN [
                {
                    'requests': batch - 1, 'new_tokens': new_tokens // batch,
                    'cached_tokens': cached_tokens // batch
                },
                {
                    'requests': 1, 'new_tokens': new_tokens - new_tokens // batch * (batch - 1),
                    'cached_tokens': cached_tokens - cached_tokens // batch * (batch - 1)
                }
            ]
    END AS requests,
    logit_rows, pairs AS given_pairs, tp, ep, dp, pp, CAST(1 AS BIGINT) AS cp,
    CAST(NULL AS BIGINT) AS head_tp, CAST(1 AS BIGINT) AS microbatches,
    CAST(1 AS BIGINT) AS virtual_stages, CAST(0 AS BIGINT) AS zero_stage, FALSE AS recompute,
    hardware, 'physical' AS execution, CAST(NULL AS VARCHAR) AS weight_dtype,
    CAST(NULL AS VARCHAR) AS activation_dtype, CAST(NULL AS VARCHAR) AS kv_dtype,
    CAST(NULL AS VARCHAR) AS gemm_dtype, CAST(NULL AS VARCHAR) AS head_dtype, 'auto' AS mla_mode,
    CAST(0 AS BIGINT) AS mtp_layers, CAST(NULL AS BIGINT) AS top_k,
    CAST(1 AS DOUBLE) AS hidden_scale, CAST(1 AS DOUBLE) AS kv_rank_scale,
    CAST(1 AS DOUBLE) AS expert_imbalance, trace_id, rank, device, pass_id,
    coalesce(phase = 'training' AND direction IS NULL, FALSE) AS is_trained
FROM loads;
