-- One row per sweep of decode over the batch: the batch per chip from which decode is
-- compute-bound, and the limiting resource.
--
-- Bound by compute means that compute takes at least 0.9 of the time of memory and network. The
-- intensities are marginal, per additional sequence, from the two largest batches of the sweep,
-- where the weights are read for all sequences.
--
-- key: study, formulas, execution, model, hardware, kv_len, ep, kv_dtype?, top_k?
--
-- study             VARCHAR  sweep
-- formulas          VARCHAR  set of formulas: physical
-- execution         VARCHAR  profile of execution_profiles
-- model             VARCHAR  model
-- hardware          VARCHAR  chip
-- kv_len            BIGINT   cached tokens of a sequence
-- ep                BIGINT   degree of expert parallelism
-- kv_dtype          VARCHAR  type of the KV cache, from the scenario
-- top_k             BIGINT   experts per token, from the scenario
-- points            BIGINT   batches tried
-- cache_intensity   DOUBLE   FLOP per byte of the KV cache for one more sequence
-- memory_intensity  DOUBLE   FLOP per byte in memory for one more sequence: the limit for large
--                            batches
-- net_intensity     DOUBLE   FLOP per byte sent for one more sequence
-- knee              DOUBLE   peak over memory bandwidth, FLOP/byte
-- net_knee          DOUBLE   peak over network bandwidth, FLOP/byte
-- min_batch         BIGINT   smallest batch per chip that is bound by compute; NULL: none
-- limiter           VARCHAR  what limits it: memory or network
CREATE VIEW decode_frontier AS
WITH swept AS (
    SELECT
        study, formulas, execution, model, hardware, kv_len, tp, ep, pp, kv_dtype, top_k,
        hidden_scale, kv_rank_scale, settings, batch, knee, flop, hbm_bytes, kv_bytes, net_bytes,
        hbm_ms, net_ms, flop_before, hbm_bytes_before, kv_bytes_before, net_bytes_before,
        compute_ms >= 0.9 * greatest(hbm_ms, net_ms) AS is_compute
    FROM _decode_neighbours
)
SELECT
    study, formulas, execution, model, hardware, kv_len, ep, kv_dtype, top_k, count(*) AS points,
    arg_max((flop - flop_before) / nullif(kv_bytes - kv_bytes_before, 0), batch)
        AS cache_intensity,
    arg_max((flop - flop_before) / nullif(hbm_bytes - hbm_bytes_before, 0), batch)
        AS memory_intensity,
    arg_max((flop - flop_before) / nullif(net_bytes - net_bytes_before, 0), batch) AS net_intensity,
    arg_max(knee, batch) AS knee,
    arg_max(knee * (hbm_bytes / hbm_ms) / nullif(net_bytes / nullif(net_ms, 0), 0), batch)
        AS net_knee,
    min(batch) FILTER (is_compute) AS min_batch,
    CASE
        WHEN coalesce(
            arg_min(hbm_ms >= net_ms, batch) FILTER (is_compute), arg_max(hbm_ms >= net_ms, batch)
        ) THEN 'memory'
        ELSE 'network'
    END AS limiter
FROM swept
GROUP BY
    study, formulas, execution, model, hardware, kv_len, tp, ep, pp, kv_dtype, top_k, hidden_scale,
    kv_rank_scale, settings
HAVING count(*) > 1;
