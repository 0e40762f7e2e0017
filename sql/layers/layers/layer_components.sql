-- One row per pass, layer, component and stream, where annotations name the parts of a layer:
-- attention, dispatch, experts, forward and backward.
--
-- key: trace_id, device, pass_id, layer_id, component, stream?
--
-- trace_id      VARCHAR  trace
-- rank          INTEGER  rank in the job, NULL if unknown
-- device        INTEGER  device the layer ran on
-- pass_id       BIGINT   pass, from 0 in time order
-- layer_id      BIGINT   layer, from 0
-- component     VARCHAR  name of the annotation
-- stream        BIGINT   stream its kernels ran on
-- start_ns      BIGINT   start of its first operation there, copies and fills of memory included
-- end_ns        BIGINT   latest end of its operations there
-- wall_us       DOUBLE   from that start to that end
-- sum_us        DOUBLE   sum of their durations; overlaps count twice
-- busy_us       DOUBLE   time with at least one of the component's operations running that did not
--                        begin with an earlier one on any stream: adds up to the component's union
-- kernel_count  BIGINT   kernels, without copies and fills of memory
-- memory_count  BIGINT   copies and fills of memory
CREATE VIEW layer_components AS
WITH covered AS (
    SELECT
        trace_id, rank, device, pass_id, layer_id, component, stream, start_ns, end_ns, dur_ns,
        kind,
        max(end_ns) OVER (
            PARTITION BY trace_id, device, pass_id, layer_id, component ORDER BY seq
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS covered_ns
    FROM _places
    WHERE component IS NOT NULL
)
SELECT
    trace_id, rank, device, pass_id, layer_id, component, stream, min(start_ns) AS start_ns,
    max(end_ns) AS end_ns, (max(end_ns) - min(start_ns)) / 1000.0 AS wall_us,
    sum(dur_ns) / 1000.0 AS sum_us,
    sum(greatest(end_ns - greatest(start_ns, covered_ns), 0)) / 1000.0 AS busy_us,
    count(*) FILTER (kind <> 'memory') AS kernel_count,
    count(*) FILTER (kind = 'memory') AS memory_count
FROM covered
GROUP BY trace_id, rank, device, pass_id, layer_id, component, stream;
