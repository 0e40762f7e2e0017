-- One row per sweep of decode over the batch by the physical formulas: the smallest batch of the
-- sweep from which on decode is bound by compute.
--
-- The intensities are those of one more sequence, by the two largest batches of the sweep: by then
-- weights are read for all of them.
--
-- study             VARCHAR  sweep
-- formulas          VARCHAR  physical
-- execution         VARCHAR  profile of execution_profiles
-- model             VARCHAR  model
-- hardware          VARCHAR  chip
-- kv_len            BIGINT   cached tokens of a sequence
-- ep                BIGINT   degree of expert parallelism
-- kv_dtype          VARCHAR  type of the KV cache, as the scenario says
-- top_k             BIGINT   experts per token, as the scenario says
-- points            BIGINT   batches of the sweep
-- cache_intensity   DOUBLE   FLOP per byte of the KV cache of one more sequence
-- memory_intensity  DOUBLE   FLOP per byte in memory of one more sequence, activations too
-- net_intensity     DOUBLE   FLOP per byte sent of one more sequence; NULL: none is sent
-- knee              DOUBLE   peak over memory bandwidth, FLOP/byte
-- net_knee          DOUBLE   peak over network bandwidth, FLOP/byte; NULL: nothing is sent
-- min_batch         BIGINT   smallest batch of the sweep that is bound by compute; NULL: none
-- limiter           VARCHAR  memory or network, what takes longer there, or at the largest batch
CREATE VIEW _swept_frontier AS
WITH swept AS (
    SELECT
        n.*, frontier_alpha AS alpha,
        compute_ms >= frontier_alpha * greatest(hbm_ms, net_ms) AS is_compute
    FROM _decode_neighbours AS n
    CROSS JOIN _seed_constants
    WHERE formulas <> 'seed'
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
    kv_rank_scale
HAVING count(*) > 1;
