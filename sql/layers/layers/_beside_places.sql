-- One row per kernel on another stream than the layers', such as shared experts, that was launched
-- from within a layer: the launches before and after it on its thread are of that layer. It belongs
-- to the layer whenever it runs. Launches of graphs show no such order, collectives gather the next
-- layer's weights ahead of time, and if the host shows the layers, _kernel_places has all that they
-- launch.
--
-- stored: meanwhile
--
-- trace_id   VARCHAR  trace
-- rank       INTEGER  rank in the job, NULL if unknown
-- device     INTEGER  device
-- stream     BIGINT   stream of the kernel
-- kernel_id  BIGINT   the kernel
-- start_ns   BIGINT   its start
-- end_ns     BIGINT   its end
-- dur_ns     BIGINT   its duration
-- kind       VARCHAR  compute
-- pass_id    BIGINT   pass
-- layer_id   BIGINT   layer
-- half       VARCHAR  half of the kernel that was launched before it
-- component  VARCHAR  part of the layer by annotation, NULL without one
CREATE VIEW _beside_places AS
WITH apart AS (
    SELECT
        k.trace_id, k.rank, k.device, k.stream, k.kernel_id, k.start_ns, k.end_ns, k.dur_ns,
        k.kind, k.launch_pid, k.launch_tid, k.launch_ns
    FROM kernels AS k
    ANTI JOIN _kernel_places AS p ON p.trace_id = k.trace_id AND p.kernel_id = k.kernel_id
    WHERE k.kind = 'compute' AND k.launch_kernels = 1
),
threads AS (
    SELECT DISTINCT trace_id, device, launch_pid, launch_tid FROM apart
),
launched AS (
    SELECT
        k.trace_id, k.device, k.launch_pid, k.launch_tid, k.launch_ns, p.pass_id, p.layer_id,
        p.half, p.component, p.call_id,
        (lead(p.pass_id) OVER in_time, lead(p.layer_id) OVER in_time) AS next_layer
    FROM kernels AS k
    SEMI JOIN threads
        ON threads.trace_id = k.trace_id AND threads.device = k.device
        AND threads.launch_pid = k.launch_pid AND threads.launch_tid = k.launch_tid
    JOIN _kernel_places AS p ON p.trace_id = k.trace_id AND p.kernel_id = k.kernel_id
    WINDOW in_time AS (
        PARTITION BY k.trace_id, k.device, k.launch_pid, k.launch_tid
        ORDER BY k.launch_ns, k.start_ns, k.kernel_id
    )
    -- What follows a graph's launch follows the last of its kernels, which have one launch time.
    QUALIFY k.launch_ns IS DISTINCT FROM lead(k.launch_ns) OVER in_time
)
SELECT
    a.trace_id, a.rank, a.device, a.stream, a.kernel_id, a.start_ns, a.end_ns, a.dur_ns, a.kind,
    l.pass_id, l.layer_id, l.half, l.component
FROM apart AS a
ASOF JOIN launched AS l
    ON l.trace_id = a.trace_id AND l.device = a.device AND l.launch_pid = a.launch_pid
    AND l.launch_tid = a.launch_tid AND l.launch_ns <= a.launch_ns
WHERE l.call_id IS NULL AND l.next_layer = (l.pass_id, l.layer_id);
