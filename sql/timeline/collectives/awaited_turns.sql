-- One row per stretch of a device's time in which operations of one kind run, such as collectives,
-- with the one that the device waits for if it does nothing else. Stretches do not overlap, and
-- cover all that run.
--
-- `FROM awaited_turns(ops)` with a relation, or a CTE of the query, of one row per operation, with
-- the columns trace_id, device, step_id, stream, kernel_id, start_ns and end_ns. Each step is
-- judged separately.
--
-- Work that waits for a collective begins when it ends. So one that ends before the device computes
-- again goes before one that is still in flight then, such as a receive that was posted early; of
-- several, the last to begin counts. A stream runs one after the other; operations without one are
-- a stream.
--
-- trace_id   VARCHAR  trace
-- device     INTEGER  device
-- step_id    BIGINT   step
-- kernel_id  BIGINT   event_id of the operation
-- start_ns   BIGINT   start of the stretch, ns
-- end_ns     BIGINT   its end, ns
CREATE MACRO awaited_turns(ops) AS TABLE
WITH computing AS (
    SELECT trace_id, device, start_ns, end_ns FROM _state_sums WHERE state = 'compute'
),
reaching AS MATERIALIZED (
    SELECT
        ops.trace_id, ops.device, ops.step_id, coalesce(ops.stream, -1) AS stream, ops.kernel_id,
        ops.start_ns, ops.end_ns,
        -- From then on nothing computes until it ends.
        least(greatest(ops.start_ns, coalesce(computing.end_ns, ops.start_ns)), ops.end_ns)
            AS computed_ns
    FROM query_table(ops) AS ops
    ASOF LEFT JOIN computing
        ON computing.trace_id = ops.trace_id
        AND computing.device = ops.device
        AND computing.start_ns < ops.end_ns
    WHERE ops.end_ns > ops.start_ns
),
pieces AS MATERIALIZED (
    SELECT
        trace_id, device, step_id, stream, kernel_id, begun_ns, is_awaited, start_ns, end_ns
    FROM (
        SELECT
            trace_id, device, step_id, stream, kernel_id, start_ns AS begun_ns,
            FALSE AS is_awaited, start_ns, computed_ns AS end_ns
        FROM reaching
        UNION ALL
        SELECT
            trace_id, device, step_id, stream, kernel_id, start_ns, TRUE, computed_ns, end_ns
        FROM reaching
    )
    WHERE end_ns > start_ns
),
moments AS (
    SELECT
        trace_id, device, step_id, at_ns, lead(at_ns) OVER lane AS next_ns,
        sum(change) OVER lane AS running
    FROM (
        SELECT trace_id, device, step_id, at_ns, sum(change) AS change
        FROM (
            SELECT trace_id, device, step_id, start_ns AS at_ns, 1 AS change FROM pieces
            UNION ALL
            SELECT trace_id, device, step_id, end_ns, -1 FROM pieces
        )
        GROUP BY trace_id, device, step_id, at_ns
    )
    WINDOW lane AS (PARTITION BY trace_id, device, step_id ORDER BY at_ns)
),
streams AS (
    SELECT DISTINCT trace_id, device, step_id, stream FROM pieces
),
-- If those of a stream overlap nevertheless, the one that ends last.
latest AS (
    SELECT
        trace_id, device, step_id, stream, start_ns, max(end_ns) OVER of_stream AS end_ns,
        arg_max(kernel_id, end_ns) OVER of_stream AS kernel_id,
        arg_max(begun_ns, end_ns) OVER of_stream AS begun_ns,
        arg_max(is_awaited, end_ns) OVER of_stream AS is_awaited
    FROM pieces
    WINDOW of_stream AS (PARTITION BY trace_id, device, step_id, stream ORDER BY start_ns)
),
asked AS (
    SELECT moments.trace_id, moments.device, moments.step_id, stream, at_ns, next_ns
    FROM moments
    JOIN streams
        ON streams.trace_id = moments.trace_id AND streams.device = moments.device
        AND streams.step_id = moments.step_id
    WHERE running > 0
)
SELECT
    asked.trace_id, asked.device, asked.step_id,
    arg_max(
        latest.kernel_id, (latest.is_awaited, latest.begun_ns, latest.kernel_id)
    ) AS kernel_id,
    asked.at_ns AS start_ns, any_value(asked.next_ns) AS end_ns
FROM asked
ASOF JOIN latest
    ON latest.trace_id = asked.trace_id
    AND latest.device = asked.device
    AND latest.step_id = asked.step_id
    AND latest.stream = asked.stream
    AND latest.start_ns <= asked.at_ns
WHERE latest.end_ns > asked.at_ns
GROUP BY asked.trace_id, asked.device, asked.step_id, asked.at_ns;
