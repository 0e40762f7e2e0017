-- One row per operation with which a SparseCore of a TPU carries out a collective of the program
-- that the device runs. The program's own operations show the collective, from its start half to
-- its done half, and count: kernels leaves these out, and device_states has them in flight.
--
-- An operation of a SparseCore is one if it communicates and its middle is in a collective of the
-- same kind, or one whose name shows none (async-start), of the program: the clocks of two cores
-- may differ a little at its ends. What a SparseCore exchanges without one, such as embeddings,
-- counts as an operation of the device.
--
-- stored: per jax trace
--
-- key: trace_id, kernel_id
--
-- trace_id   VARCHAR  trace
-- kernel_id  BIGINT   event_id of the operation
CREATE VIEW offloaded_operations AS
WITH communicating AS (
    SELECT
        o.trace_id, o.kernel_id, o.device, o.start_ns, o.end_ns, o.name,
        regexp_extract(o.name, '^%?(async|.+?)(-start|-done|-collective|\.\d+)*$', 1) AS collective,
        events.args ->> '$.long_name' AS instruction, sparse.core IS NOT NULL AS is_offloaded
    FROM (SELECT DISTINCT trace_id FROM _sparse_core_operations) AS t
    JOIN _operations AS o ON o.trace_id = t.trace_id
    JOIN events ON events.trace_id = o.trace_id AND events.event_id = o.kernel_id
    JOIN _kernel_names AS names
        ON names.trace_id = o.trace_id AND names.called = o.called
        AND names.core_group IS NOT DISTINCT FROM o.core_group
    LEFT JOIN _hlo_operations AS hlo
        ON hlo.trace_id = o.trace_id AND hlo.kernel_id = o.kernel_id
        AND (hlo.is_wrapper IS NOT TRUE OR names.kind <> 'communication')
    LEFT JOIN _sparse_core_operations AS sparse
        ON sparse.trace_id = o.trace_id AND sparse.kernel_id = o.kernel_id
    WHERE events.lane = 'device' AND coalesce(hlo.kind, names.kind) = 'communication'
),
calls AS (
    SELECT
        trace_id, device, collective, start_ns,
        if(half = 'start' AND lead(half) OVER of_name = 'done', lead(end_ns) OVER of_name, end_ns)
            AS end_ns
    FROM (
        SELECT
            trace_id, device, collective, kernel_id, start_ns, end_ns,
            collective_half(name) AS half,
            collective_start(name, instruction) AS start_name
        FROM communicating
        WHERE NOT is_offloaded
    )
    WINDOW of_name AS (PARTITION BY trace_id, device, start_name ORDER BY start_ns, kernel_id)
),
in_flight AS (
    -- The latest end of those that have begun.
    SELECT DISTINCT
        trace_id, device, collective, start_ns,
        max(end_ns) OVER (
            PARTITION BY trace_id, device, collective ORDER BY start_ns
            RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS end_ns
    FROM calls
),
candidates AS (
    SELECT
        trace_id, device, kernel_id, start_ns + (end_ns - start_ns) // 2 AS middle_ns,
        unnest([collective, 'async']) AS collective
    FROM communicating
    WHERE is_offloaded
)
SELECT DISTINCT c.trace_id, c.kernel_id
FROM candidates AS c
ASOF JOIN in_flight AS f
    ON f.trace_id = c.trace_id AND f.device = c.device AND f.collective = c.collective
    AND f.start_ns <= c.middle_ns
WHERE c.middle_ns < f.end_ns;
