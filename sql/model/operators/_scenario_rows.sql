-- One row per given scenario whose formulas are the physical ones, numbered. In schema of_passes it
-- is replaced by the passes of traces: _pass_scenarios has the same columns.
--
-- scenario_no       BIGINT    number of the row
-- scenario          VARCHAR   name
-- study             VARCHAR   sweep that it is a point of
-- formulas          VARCHAR   set of formulas: physical
-- model             VARCHAR   model
-- phase             VARCHAR   prefill, decode or training
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
CREATE VIEW _scenario_rows AS
SELECT
    rowid AS scenario_no, scenario, study, formulas, model, phase, batch, seq_len, kv_len, requests,
    logit_rows, CAST(NULL AS BIGINT) AS given_pairs, tp, ep, dp, pp, cp, head_tp,
    microbatches, virtual_stages, zero_stage, recompute, hardware, execution, weight_dtype,
    activation_dtype, kv_dtype, gemm_dtype, head_dtype, mla_mode, mtp_layers, top_k, hidden_scale,
    kv_rank_scale, expert_imbalance
FROM scenarios
WHERE formulas = 'physical';
