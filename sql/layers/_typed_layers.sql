-- One row per pass and layer, with what it is counted under: its type by the model's config, or its
-- kind by its kernels.
-- trace_id    VARCHAR  trace
-- rank        INTEGER  rank in the job, NULL when unknown
-- device      INTEGER  device the layer ran on
-- pass_id     BIGINT   pass, from 0 in time order
-- layer_id    BIGINT   layer, from 0
-- layer_type  VARCHAR  type by the model's config, NULL when unknown
-- layer_kind  VARCHAR  kind by the layer's kernels, NULL where the type is known
-- wall_us     DOUBLE   start of its first kernel to the latest end
-- sum_us      DOUBLE   sum of the kernels' durations
-- busy_us     DOUBLE   time with at least one of its kernels running
CREATE VIEW _typed_layers AS
SELECT
    l.trace_id, l.rank, l.device, l.pass_id, l.layer_id, l.layer_type,
    CASE WHEN l.layer_type IS NULL THEN k.layer_kind END AS layer_kind,
    l.wall_us, l.sum_us, l.busy_us
FROM layers AS l
LEFT JOIN _layer_kinds AS k
    ON k.trace_id = l.trace_id
    AND k.rank IS NOT DISTINCT FROM l.rank
    AND k.device IS NOT DISTINCT FROM l.device
    AND k.pass_id = l.pass_id
    AND k.layer_id = l.layer_id;
