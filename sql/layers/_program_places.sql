-- One row per operation of a run whose program has layers: the layer that it is in, or the part of
-- the pass before or after them. A run is a pass; a layer goes on up to the next one.
-- trace_id      VARCHAR  trace
-- rank          INTEGER  rank in the job, NULL when unknown
-- device        INTEGER  device
-- series        VARCHAR  the program, without its fingerprint
-- stream        BIGINT   stream of the operation
-- kernel_id     BIGINT   the operation
-- start_ns      BIGINT   its start
-- end_ns        BIGINT   its end
-- anchor_count  BIGINT   anchors of the device
-- remainder     BIGINT   anchors in runs that have another number of them
-- num_layers    INTEGER  layers of a whole run
-- pass_id       BIGINT   pass, from 0 in time order
-- layer_id      BIGINT   layer, NULL outside the layers
-- part          VARCHAR  prologue or epilogue, NULL in the layers
CREATE VIEW _program_places AS
WITH totals AS (
    SELECT
        trace_id, device, count(*) AS anchor_count,
        count(*) FILTER (NOT is_whole) AS remainder
    FROM _program_anchors
    GROUP BY trace_id, device
),
starts AS (
    SELECT
        a.trace_id, a.device, a.run_id, a.layer_id, a.num_layers, a.seq - e.lead AS seq,
        a.seq + e.tail AS end_seq
    FROM _program_anchors AS a
    JOIN _program_edges AS e
        ON e.trace_id = a.trace_id AND e.device = a.device AND e.program = a.program
        AND e.layer_id = a.layer_id
    WHERE a.is_whole
),
runs AS (
    SELECT trace_id, device, run_id, max(num_layers) AS num_layers, max(end_seq) AS end_seq
    FROM starts
    GROUP BY trace_id, device, run_id
),
operations AS (
    SELECT
        o.*, r.num_layers, r.end_seq, o.seq AS op_seq,
        dense_rank() OVER (PARTITION BY o.trace_id, o.device ORDER BY o.run_ns, o.run_id) - 1
            AS pass_id
    FROM _program_operations AS o
    JOIN runs AS r ON r.trace_id = o.trace_id AND r.device = o.device AND r.run_id = o.run_id
)
SELECT
    o.trace_id, o.rank, o.device, regexp_replace(o.program, '\(\d+\)$', '') AS series, o.stream,
    o.kernel_id, o.start_ns, o.end_ns, t.anchor_count,
    t.remainder, CAST(o.num_layers AS INTEGER) AS num_layers, o.pass_id,
    CASE WHEN o.op_seq <= o.end_seq THEN s.layer_id END AS layer_id,
    CASE
        WHEN s.layer_id IS NULL THEN 'prologue'
        WHEN o.op_seq > o.end_seq THEN 'epilogue'
    END AS part
FROM operations AS o
JOIN totals AS t ON t.trace_id = o.trace_id AND t.device = o.device
ASOF LEFT JOIN starts AS s
    ON s.trace_id = o.trace_id AND s.device = o.device AND s.run_id = o.run_id
    AND s.seq <= o.op_seq;
