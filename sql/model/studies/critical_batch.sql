-- One row per sweep of decode over the batch, all else equal: the batch from which it is
-- compute-bound.
--
-- intensity_batch is where FLOP per byte reach the chip's knee, as in the reference report; the
-- actual crossover is time_batch, where compute takes as long as memory and network. Both are
-- interpolated between two batches of the sweep, and NULL if the crossing is outside the sweep. The
-- hints for single products need no sweep: a product of n rows has 2 n FLOP for each weight that it
-- reads.
--
-- key: study, formulas, execution, model, hardware, kv_len, tp, ep, pp, kv_dtype?, top_k?,
--      hidden_scale?, kv_rank_scale?, settings
--
-- study                 VARCHAR  sweep
-- formulas              VARCHAR  set of formulas: physical
-- execution             VARCHAR  profile of execution_profiles
-- model                 VARCHAR  model
-- hardware              VARCHAR  chip
-- kv_len                BIGINT   cached tokens of a sequence
-- tp                    BIGINT   degree of tensor parallelism
-- ep                    BIGINT   degree of expert parallelism
-- pp                    BIGINT   pipeline stages
-- kv_dtype              VARCHAR  type of the KV cache, from the scenario
-- top_k                 BIGINT   experts per token, from the scenario
-- hidden_scale          DOUBLE   hidden width over the model's
-- kv_rank_scale         DOUBLE   width of compressed keys and values over the model's
-- settings              STRUCT   these and other settings of the scenario, by column
-- points                BIGINT   batches of the sweep
-- smallest_batch        BIGINT   the smallest of them
-- largest_batch         BIGINT   the largest of them
-- knee                  DOUBLE   peak over memory bandwidth, FLOP/byte
-- intensity_batch       DOUBLE   batch at which the intensity reaches the knee
-- time_batch            DOUBLE   batch at which compute takes as long as memory and network
-- first_compute_batch   BIGINT   first batch of the sweep that is bound by compute
-- compute_bound         BIGINT   batches of the sweep that are bound by compute
-- dense_product_tokens  DOUBLE   tokens from which a dense product is bound by compute
-- expert_tokens         DOUBLE   tokens per chip from which its experts' products are
CREATE VIEW critical_batch AS
WITH crossings AS (
    SELECT
        study, formulas, execution, model, hardware, kv_len, tp, ep, pp, kv_dtype, top_k,
        hidden_scale, kv_rank_scale, settings, batch, bound, knee, weight_bytes,
        experts_per_visit,
        CASE
            WHEN intensity < knee THEN NULL
            WHEN batch_before IS NULL THEN batch
            WHEN intensity_before < knee
                THEN batch_before + (batch - batch_before) * (knee - intensity_before)
                    / (intensity - intensity_before)
        END AS intensity_crossing,
        CASE
            WHEN ahead_ms < 0 THEN NULL
            WHEN batch_before IS NULL THEN batch
            WHEN ahead_before < 0
                THEN batch_before + (batch - batch_before) * ahead_before
                    / (ahead_before - ahead_ms)
        END AS time_crossing
    FROM _decode_neighbours
)
SELECT
    study, formulas, execution, model, hardware, kv_len, tp, ep, pp, kv_dtype, top_k, hidden_scale,
    kv_rank_scale, settings, count(*) AS points, min(batch) AS smallest_batch,
    max(batch) AS largest_batch,
    any_value(knee) AS knee, min(intensity_crossing) AS intensity_batch,
    min(time_crossing) AS time_batch,
    min(batch) FILTER (bound = 'compute') AS first_compute_batch,
    count(*) FILTER (bound = 'compute') AS compute_bound,
    any_value(knee * weight_bytes / 2) AS dense_product_tokens,
    any_value(knee * weight_bytes / 2 * nullif(experts_per_visit, 0)) AS expert_tokens
FROM crossings
GROUP BY
    study, formulas, execution, model, hardware, kv_len, tp, ep, pp, kv_dtype, top_k, hidden_scale,
    kv_rank_scale, settings
HAVING count(*) > 1;
