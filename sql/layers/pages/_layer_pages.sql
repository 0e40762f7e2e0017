-- One row per pass and layer as reports show it: its type, its flags, and whether it is the layer
-- nearest to its type's median.
--
-- trace_id        VARCHAR  trace
-- rank            INTEGER  rank in the job, NULL if unknown
-- device          INTEGER  device
-- pass_id         BIGINT   pass, from 0 in time order
-- layer_id        BIGINT   layer, from 0
-- num_layers      INTEGER  layers of the model
-- type            VARCHAR  type by the model's config, kind by the kernels, or both
-- compress_ratio  INTEGER  compression of the attention's keys
-- flags           VARCHAR  first, final, hash
-- rel_ms          DOUBLE   start from the trace's first event, ms
-- wall_us         DOUBLE   from its first kernel to the end of its last
-- sum_us          DOUBLE   sum of the durations of its kernels, copies and fills
-- busy_us         DOUBLE   time with at least one of them running
-- comm_count      BIGINT   communication kernels
-- kernel_count    BIGINT   kernels
-- memory_count    BIGINT   copies and fills of memory
-- pass_pct        DOUBLE   its type's share of the wall times of the pass, %
-- is_typical      BOOLEAN  the layer of its type whose wall time is nearest to the median
CREATE VIEW _layer_pages AS
WITH kinds AS (
    SELECT
        trace_id, device, pass_id, layer_type, layer_kind, median_wall_us, pass_pct,
        unnest(layer_ids) AS layer_id
    FROM layer_types
)
SELECT
    l.trace_id, l.rank, l.device, l.pass_id, l.layer_id, p.num_layers,
    nullif(concat_ws(' ', l.layer_type, k.layer_kind), '') AS type, l.compress_ratio,
    concat_ws(
        ', ', CASE WHEN l.is_first THEN 'first' END, CASE WHEN l.is_final THEN 'final' END,
        CASE WHEN l.is_hash THEN 'hash' END
    ) AS flags,
    (l.start_ns - t.origin_ns) / 1e6 AS rel_ms, l.wall_us, l.sum_us, l.busy_us, l.comm_count,
    l.kernel_count, l.memory_count, k.pass_pct,
    row_number() OVER (
        PARTITION BY l.trace_id, l.device, l.pass_id, k.layer_type, k.layer_kind
        ORDER BY abs(l.wall_us - k.median_wall_us), l.layer_id
    ) = 1 AS is_typical
FROM layers AS l
JOIN traces AS t ON t.trace_id = l.trace_id
JOIN passes AS p
    ON p.trace_id = l.trace_id
    AND p.device = l.device
    AND p.pass_id = l.pass_id
JOIN kinds AS k
    ON k.trace_id = l.trace_id
    AND k.device = l.device
    AND k.pass_id = l.pass_id
    AND k.layer_id = l.layer_id;
