-- One row per degree of expert parallelism and cache length of a model report: the batch from which
-- decode is compute-bound.
--
-- ep                BIGINT   degree of expert parallelism
-- kv_len            BIGINT   cached tokens of each
-- memory_intensity  DOUBLE   FLOP per byte of memory that large batches reach
-- knee              DOUBLE   FLOP per byte at which compute takes as long as memory
-- net_intensity     DOUBLE   FLOP per byte of the network
-- net_knee          DOUBLE   FLOP per byte at which compute takes as long as the network
-- min_batch         BIGINT   smallest batch that is compute-bound; NULL if no tried batch is
-- limiter           VARCHAR  what limits smaller batches
-- frontier_fits     BOOLEAN  whether that batch fits the memory
CREATE VIEW _report_frontier AS
WITH room AS (
    SELECT ep, kv_len, min(max_batch) AS max_batch
    FROM _report_points
    WHERE study = 'report frontier'
    GROUP BY ep, kv_len
)
SELECT
    ep, kv_len, f.memory_intensity, f.knee, f.net_intensity, f.net_knee, f.min_batch, f.limiter,
    f.min_batch <= room.max_batch AS frontier_fits
FROM decode_frontier AS f
LEFT JOIN room USING (ep, kv_len)
WHERE f.study = 'report frontier';
