-- One row per device operation of the streams that carry a device's layers, or launched from a
-- layer: the layer it belongs to, if any. These are the kernels of _kernel_places, which decide
-- what the layers are, the copies and fills of memory of _memory_places, which lie in them, the
-- collectives of _awaited_places and the kernels of _beside_places.
-- trace_id   VARCHAR  trace
-- rank       INTEGER  rank in the job, NULL if unknown
-- device     INTEGER  device
-- stream     BIGINT   stream of the operation
-- kernel_id  BIGINT   the operation
-- start_ns   BIGINT   its start
-- end_ns     BIGINT   its end
-- dur_ns     BIGINT   its duration
-- kind       VARCHAR  compute, communication or memory
-- seq        BIGINT   position on the device among these operations, from 0
-- series     VARCHAR  model that the operation's pass is of; outside the layers, for a copy, that
--                     of the kernel before or after it
-- direction  VARCHAR  direction of that pass in training, NULL if unknown
-- pass_id    BIGINT   pass, NULL outside the layers
-- layer_id   BIGINT   layer, NULL outside the layers
-- half       VARCHAR  label of the block within its layer, NULL outside the layers
-- part       VARCHAR  prologue, between or epilogue of a pass, where known
-- part_pass  BIGINT   pass of that part
-- component  VARCHAR  part of the layer by annotation, NULL if there is none
CREATE VIEW _places AS
WITH of_passes AS (
    SELECT trace_id, rank, device, pass_id, any_value(series) AS series,
        any_value(direction) AS direction
    FROM _kernel_places
    WHERE pass_id IS NOT NULL
    GROUP BY trace_id, rank, device, pass_id
),
all_kinds AS (
    SELECT
        trace_id, rank, device, stream, kernel_id, start_ns, end_ns, dur_ns, kind, series,
        direction, pass_id, layer_id, half, part, part_pass, component
    FROM _kernel_places
    UNION ALL
    SELECT
        m.trace_id, m.rank, m.device, m.stream, m.kernel_id, m.start_ns, m.end_ns, m.dur_ns,
        m.kind, p.series, p.direction, m.pass_id, m.layer_id, m.half, m.part, m.part_pass,
        m.component
    FROM _memory_places AS m
    LEFT JOIN of_passes AS p
        ON p.trace_id = m.trace_id
        AND p.device = m.device
        AND p.pass_id = m.pass_id
    UNION ALL
    SELECT
        a.trace_id, a.rank, a.device, a.stream, a.kernel_id, a.start_ns, a.end_ns, a.dur_ns,
        a.kind, p.series, p.direction, a.pass_id, a.layer_id, a.half, NULL, NULL, a.component
    FROM (FROM _awaited_places UNION ALL FROM _beside_places) AS a
    JOIN of_passes AS p
        ON p.trace_id = a.trace_id
        AND p.device = a.device
        AND p.pass_id = a.pass_id
)
SELECT
    trace_id, rank, device, stream, kernel_id, start_ns, end_ns, dur_ns, kind,
    row_number() OVER in_time - 1 AS seq,
    coalesce(
        series, last_value(series IGNORE NULLS) OVER (in_time ROWS UNBOUNDED PRECEDING),
        first_value(series IGNORE NULLS) OVER (
            in_time ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING
        )
    ) AS series,
    direction, pass_id, layer_id, half, part, part_pass, component
FROM all_kinds
WINDOW in_time AS (PARTITION BY trace_id, device ORDER BY start_ns, kernel_id);
