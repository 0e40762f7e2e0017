-- One row per collective on a stream of its own that the kernels of a layer wait for: it runs
-- between two of them, while none runs. PyTorch's process groups and expert libraries have streams
-- of their own; if the host shows the layers, their collectives are in _kernel_places. One that
-- runs concurrently with kernels, such as a prefetching gather, belongs to no layer. The last layer
-- of a pass has at most as many at its end as the other layers: what a pipeline stage sends and
-- receives after them belongs to no layer.
--
-- stored: meanwhile
--
-- trace_id   VARCHAR  trace
-- rank       INTEGER  rank in the job, NULL if unknown
-- device     INTEGER  device
-- stream     BIGINT   stream of the collective
-- kernel_id  BIGINT   the collective
-- start_ns   BIGINT   its start
-- end_ns     BIGINT   its end
-- dur_ns     BIGINT   its duration
-- kind       VARCHAR  communication
-- pass_id    BIGINT   pass
-- layer_id   BIGINT   layer
-- half       VARCHAR  half of the kernel before it
-- component  VARCHAR  part of the layer by annotation, NULL without one
CREATE VIEW _awaited_places AS
WITH apart AS (
    SELECT
        k.trace_id, k.rank, k.device, k.stream, k.kernel_id, k.start_ns, k.end_ns, k.dur_ns,
        k.kind
    FROM kernels AS k
    ANTI JOIN _kernel_places AS p ON p.trace_id = k.trace_id AND p.kernel_id = k.kernel_id
    WHERE k.kind = 'communication'
),
lanes AS (
    SELECT DISTINCT trace_id, device FROM apart
),
followed AS (
    SELECT
        p.trace_id, p.device, p.series, p.num_layers, p.start_ns, p.pass_id, p.layer_id, p.half,
        p.component,
        max(p.end_ns) OVER (in_time ROWS UNBOUNDED PRECEDING) AS reached_ns,
        lead(p.start_ns) OVER in_time AS next_ns,
        lead(p.pass_id) OVER in_time IS NOT DISTINCT FROM p.pass_id AS is_inner,
        lead(p.layer_id) OVER in_time IS NOT DISTINCT FROM p.layer_id AS goes_on
    FROM _kernel_places AS p
    SEMI JOIN lanes ON lanes.trace_id = p.trace_id AND lanes.device = p.device
    WINDOW in_time AS (PARTITION BY p.trace_id, p.device ORDER BY p.start_ns, p.seq)
    -- Of kernels that start together the last one is followed by another.
    QUALIFY p.start_ns IS DISTINCT FROM lead(p.start_ns) OVER in_time
),
awaited AS (
    SELECT
        a.trace_id, a.rank, a.device, a.stream, a.kernel_id, a.start_ns, a.end_ns, a.dur_ns,
        a.kind, f.pass_id, f.layer_id, f.half, f.component, f.series, f.num_layers, f.is_inner,
        f.is_inner AND NOT f.goes_on AS ends_layer,
        row_number() OVER (
            PARTITION BY a.trace_id, a.device, f.start_ns ORDER BY a.start_ns, a.kernel_id
        ) AS nth
    FROM apart AS a
    ASOF JOIN followed AS f
        ON f.trace_id = a.trace_id AND f.device = a.device AND f.start_ns <= a.start_ns
    WHERE
        f.layer_id IS NOT NULL AND f.reached_ns <= a.start_ns
        AND a.end_ns <= f.next_ns
)
SELECT
    trace_id, rank, device, stream, kernel_id, start_ns, end_ns, dur_ns, kind, pass_id, layer_id,
    half, component
FROM awaited
QUALIFY
    is_inner OR num_layers = 1
    OR nth <= max(CASE WHEN ends_layer THEN nth END) OVER (PARTITION BY trace_id, device, series);
