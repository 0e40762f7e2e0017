-- One row per study, degree of expert parallelism and cache length: from which batch per chip on
-- decode is bound by compute, and what stands in the way.
--
-- For the reference report's formulas that is its own estimate, over powers of two, for which the
-- batches of the study do not matter. For the physical ones it is the sweep's answer. Bound by
-- compute means that compute takes at least 0.9 of the time of memory and network.
--
-- study             VARCHAR  sweep
-- formulas          VARCHAR  physical or seed
-- execution         VARCHAR  profile of execution_profiles; NULL where it is the same for all
-- model             VARCHAR  model
-- hardware          VARCHAR  chip
-- kv_len            BIGINT   cached tokens of a sequence
-- ep                BIGINT   degree of expert parallelism
-- kv_dtype          VARCHAR  type of the KV cache, as the scenario says
-- top_k             BIGINT   experts per token, as the scenario says
-- points            BIGINT   batches tried
-- cache_intensity   DOUBLE   FLOP per byte of the KV cache for one more sequence
-- memory_intensity  DOUBLE   FLOP per byte in memory for one more sequence: what large batches come
--                            near to
-- net_intensity     DOUBLE   FLOP per byte sent for one more sequence
-- knee              DOUBLE   peak over memory bandwidth, FLOP/byte
-- net_knee          DOUBLE   peak over network bandwidth, FLOP/byte
-- min_batch         BIGINT   smallest batch per chip that is bound by compute; NULL: none
-- limiter           VARCHAR  what limits it: memory, network, KV cache when no batch suffices, or
--                            memory or network when none of those tried does
CREATE VIEW decode_frontier AS
SELECT
    study, formulas, execution, model, hardware, kv_len, ep, kv_dtype, top_k, points,
    cache_intensity, memory_intensity, net_intensity, knee, net_knee, min_batch, limiter
FROM _seed_frontier
UNION ALL
SELECT
    study, formulas, execution, model, hardware, kv_len, ep, kv_dtype, top_k, points,
    cache_intensity, memory_intensity, net_intensity, knee, net_knee, min_batch, limiter
FROM _swept_frontier;
