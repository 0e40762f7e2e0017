-- One row per pass and layer: its times in whole nanoseconds. Kernels alone decide where a layer
-- begins and ends: those of its stream, and on other streams those that it waits for. Copies and
-- fills of memory, and kernels that run beside other layers, are among its work. Busy is the union
-- of all intervals within these limits: each adds the time beyond the latest end before it. A sum
-- may exceed 64 bits; as DOUBLE it is whole nanoseconds up to 104 days.
--
-- stored: per trace
--
-- trace_id       VARCHAR  trace
-- rank           INTEGER  rank in the job, NULL if unknown
-- device         INTEGER  device
-- stream         BIGINT   stream of most of the layer's compute kernels, else of most kernels
-- pass_id        BIGINT   pass, from 0 in time order
-- layer_id       BIGINT   layer, from 0
-- series         VARCHAR  model that the pass is of
-- direction      VARCHAR  forward, backward or weight gradient in training, NULL if unknown
-- num_layers     INTEGER  layers of a complete pass
-- pass_source    VARCHAR  how the passes were found
-- anchor_count   BIGINT   anchors on the device
-- remainder      BIGINT   anchors left over by whole passes
-- issued_ns      BIGINT   when the host issued the first kernel of the layer, NULL if unknown
-- start_ns       BIGINT   start of the first of these kernels
-- end_ns         BIGINT   latest end of one
-- sum_ns         DOUBLE   sum of durations, copies and fills included
-- busy_ns        BIGINT   union of the intervals, from start to end
-- pass_busy_ns   BIGINT   the same from start to end of the pass, without what an earlier operation
--                         of the pass covers
-- kernel_count   BIGINT   kernels
-- comm_count     BIGINT   communication kernels among them
-- memory_count   BIGINT   copies and fills of memory
-- memory_ns      DOUBLE   sum of their durations
-- half_count     BIGINT   halves seen
-- is_cut_short   BOOLEAN  the capture begins or ends within the layer
CREATE VIEW _layer_spans AS
WITH awaited AS (
    SELECT trace_id, device, pass_id, layer_id, max(end_ns) AS end_ns
    FROM _awaited_places
    GROUP BY trace_id, device, pass_id, layer_id
),
of_kernels AS (
    SELECT
        p.trace_id, p.rank, p.device, p.pass_id, p.layer_id,
        coalesce(
            mode(p.stream ORDER BY p.seq) FILTER (p.kind = 'compute'),
            mode(p.stream ORDER BY p.seq)
        ) AS stream,
        any_value(p.series) AS series, any_value(p.direction) AS direction,
        any_value(p.num_layers) AS num_layers, any_value(p.pass_source) AS pass_source,
        any_value(p.anchor_count) AS anchor_count, any_value(p.remainder) AS remainder,
        min(p.issued_ns) AS issued_ns,
        min(CASE WHEN a.kernel_id IS NULL THEN p.start_ns ELSE a.start_ns END) AS start_ns,
        max(CASE WHEN a.kernel_id IS NULL THEN p.end_ns ELSE a.end_ns END) AS end_ns,
        count(DISTINCT p.half) AS half_count, bool_or(p.is_cut_short) AS is_cut_short
    FROM _kernel_places AS p
    LEFT JOIN _aside_places AS a ON a.trace_id = p.trace_id AND a.kernel_id = p.kernel_id
    WHERE p.layer_id IS NOT NULL
    GROUP BY p.trace_id, p.rank, p.device, p.pass_id, p.layer_id
),
kernel_spans AS (
    SELECT
        k.* REPLACE (greatest(k.end_ns, coalesce(a.end_ns, k.end_ns)) AS end_ns),
        min(k.start_ns) OVER pass AS pass_start_ns,
        max(greatest(k.end_ns, coalesce(a.end_ns, k.end_ns))) OVER pass AS pass_end_ns
    FROM of_kernels AS k
    LEFT JOIN awaited AS a
        ON a.trace_id = k.trace_id AND a.device = k.device
        AND a.pass_id = k.pass_id AND a.layer_id = k.layer_id
    WINDOW pass AS (PARTITION BY k.trace_id, k.device, k.pass_id)
),
covered AS (
    SELECT
        trace_id, rank, device, pass_id, layer_id, start_ns, end_ns, dur_ns, kind,
        max(end_ns) OVER (
            PARTITION BY trace_id, device, pass_id, layer_id ORDER BY seq
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS layer_covered_ns,
        max(end_ns) OVER (
            PARTITION BY trace_id, device, pass_id ORDER BY seq
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS pass_covered_ns
    FROM _places
    WHERE layer_id IS NOT NULL
)
SELECT
    s.trace_id, s.rank, s.device, s.stream, s.pass_id, s.layer_id, s.series, s.direction,
    s.num_layers, s.pass_source, s.anchor_count, s.remainder, s.issued_ns, s.start_ns, s.end_ns,
    CAST(sum(c.dur_ns) AS DOUBLE) AS sum_ns,
    CAST(sum(greatest(
        least(c.end_ns, s.end_ns) - greatest(c.start_ns, s.start_ns, c.layer_covered_ns), 0
    )) AS BIGINT) AS busy_ns,
    CAST(sum(greatest(
        least(c.end_ns, s.pass_end_ns) - greatest(c.start_ns, s.pass_start_ns, c.pass_covered_ns), 0
    )) AS BIGINT) AS pass_busy_ns,
    count(*) FILTER (c.kind <> 'memory') AS kernel_count,
    count(*) FILTER (c.kind = 'communication') AS comm_count,
    count(*) FILTER (c.kind = 'memory') AS memory_count,
    CAST(coalesce(sum(c.dur_ns) FILTER (c.kind = 'memory'), 0) AS DOUBLE) AS memory_ns,
    s.half_count, s.is_cut_short
FROM kernel_spans AS s
JOIN covered AS c
    ON c.trace_id = s.trace_id
    AND c.device = s.device
    AND c.pass_id = s.pass_id
    AND c.layer_id = s.layer_id
GROUP BY ALL;
