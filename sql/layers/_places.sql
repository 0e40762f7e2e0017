-- One row per device operation of the streams that carry a device's layers, or launched from a
-- layer: the layer it belongs to, if any. These are the kernels of _kernel_places, which decide
-- what the layers are, and the copies and fills of memory of _memory_places, which lie in them.
-- trace_id   VARCHAR  trace
-- rank       INTEGER  rank in the job, NULL when unknown
-- device     INTEGER  device
-- stream     BIGINT   stream of the operation
-- kernel_id  BIGINT   the operation
-- start_ns   BIGINT   its start
-- end_ns     BIGINT   its end
-- dur_ns     BIGINT   its duration
-- kind       VARCHAR  compute, communication or memory
-- seq        BIGINT   position on the device among these operations, from 0
-- pass_id    BIGINT   pass, NULL outside the layers
-- layer_id   BIGINT   layer, NULL outside the layers
-- half       VARCHAR  label of the block within its layer, NULL outside the layers
-- part       VARCHAR  prologue, between or epilogue of a pass, where known
-- part_pass  BIGINT   pass of that part
-- component  VARCHAR  part of the layer by annotation, NULL where there is none
CREATE VIEW _places AS
WITH both_kinds AS (
    SELECT
        trace_id, rank, device, stream, kernel_id, start_ns, end_ns, dur_ns, kind, pass_id,
        layer_id, half, part, part_pass, component
    FROM _kernel_places
    UNION ALL
    SELECT
        trace_id, rank, device, stream, kernel_id, start_ns, end_ns, dur_ns, kind, pass_id,
        layer_id, half, part, part_pass, component
    FROM _memory_places
)
SELECT
    trace_id, rank, device, stream, kernel_id, start_ns, end_ns, dur_ns, kind,
    row_number() OVER (
        PARTITION BY trace_id, rank, device ORDER BY start_ns, kernel_id
    ) - 1 AS seq,
    pass_id, layer_id, half, part, part_pass, component
FROM both_kinds;
