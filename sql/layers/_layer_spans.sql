-- One row per pass and layer: its times in whole nanoseconds. Busy is the union of the kernels'
-- intervals: a kernel adds what reaches beyond the latest end before it.
--
-- Materialised per trace.
--
-- trace_id       VARCHAR  trace
-- rank           INTEGER  rank in the job, NULL when unknown
-- device         INTEGER  device
-- stream         BIGINT   stream of most of the layer's kernels
-- pass_id        BIGINT   pass, from 0 in time order
-- layer_id       BIGINT   layer, from 0
-- num_layers     INTEGER  layers of a complete pass
-- pass_source    VARCHAR  how the passes were found
-- anchor_count   BIGINT   anchors on the device
-- remainder      BIGINT   anchors left over by whole passes
-- launch_ns      BIGINT   first launch of a kernel of the layer, NULL when unknown
-- start_ns       BIGINT   start of the first kernel
-- end_ns         BIGINT   latest end of a kernel
-- sum_ns         BIGINT   sum of durations
-- busy_ns        BIGINT   union of the kernels' intervals
-- pass_busy_ns   BIGINT   the same, without what an earlier layer of the pass covers
-- kernel_count   BIGINT   kernels
-- comm_count     BIGINT   communication kernels among them
-- half_count     BIGINT   halves seen
-- is_cut_short   BOOLEAN  the capture begins or ends within the layer
CREATE VIEW _layer_spans AS
WITH covered AS (
    SELECT
        trace_id, rank, device, stream, pass_id, layer_id, half, seq, num_layers, pass_source,
        anchor_count, remainder, launch_ns, start_ns, end_ns, dur_ns, kind, is_cut_short,
        max(end_ns) OVER (
            PARTITION BY trace_id, rank, device, pass_id, layer_id ORDER BY seq
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS layer_covered_ns,
        max(end_ns) OVER (
            PARTITION BY trace_id, rank, device, pass_id ORDER BY seq
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS pass_covered_ns
    FROM _kernel_places
    WHERE layer_id IS NOT NULL
)
SELECT
    trace_id, rank, device, mode(stream ORDER BY seq) AS stream, pass_id, layer_id,
    any_value(num_layers) AS num_layers, any_value(pass_source) AS pass_source,
    any_value(anchor_count) AS anchor_count, any_value(remainder) AS remainder,
    min(launch_ns) AS launch_ns,
    min(start_ns) AS start_ns, max(end_ns) AS end_ns, CAST(sum(dur_ns) AS BIGINT) AS sum_ns,
    CAST(sum(greatest(end_ns - greatest(start_ns, layer_covered_ns), 0)) AS BIGINT) AS busy_ns,
    CAST(sum(greatest(end_ns - greatest(start_ns, pass_covered_ns), 0)) AS BIGINT) AS pass_busy_ns,
    count(*) AS kernel_count, count(*) FILTER (kind = 'communication') AS comm_count,
    count(DISTINCT half) AS half_count, bool_or(is_cut_short) AS is_cut_short
FROM covered
GROUP BY trace_id, rank, device, pass_id, layer_id;
