-- One row per device operation of a collective with the call it belongs to. A call that the
-- compiler split begins with its start half and ends with its done half; rows of it in flight on a
-- line of their own belong to it as well. If copy engines do the transfer, the copies to all peers
-- are one call.
--
-- trace_id   VARCHAR  trace
-- device     INTEGER  device
-- kernel_id  BIGINT   event_id of the operation
-- call_id    BIGINT   event_id of the first operation of the call
CREATE VIEW _collective_halves AS
WITH split AS (
    SELECT
        trace_id, device, kernel_id, start_ns, execution_id, start_name,
        -- An instruction starts again only after it has ended, so its starts count its calls. If
        -- the start halves are not shown, its rows in flight count them.
        role = 'op' AND half = 'start'
        OR role = 'async' AND NOT bool_or(role = 'op' AND half = 'start') OVER (
            PARTITION BY trace_id, device, execution_id, start_name
        ) AS begins
    FROM _collective_parts
    WHERE half IS NOT NULL OR (role = 'async' AND start_name IS NOT NULL)
),
counted AS (
    SELECT
        trace_id, device, kernel_id, execution_id, start_name, start_ns,
        sum(CAST(begins AS INTEGER)) OVER (
            PARTITION BY trace_id, device, execution_id, start_name
            ORDER BY start_ns, begins DESC, kernel_id
            ROWS UNBOUNDED PRECEDING
        ) AS call
    FROM split
)
SELECT
    trace_id, device, kernel_id,
    first_value(kernel_id) OVER (
        PARTITION BY trace_id, device, execution_id, start_name, call
        ORDER BY start_ns, kernel_id
    ) AS call_id
FROM counted
UNION ALL
SELECT trace_id, device, kernel_id, kernel_id
FROM _collective_parts
WHERE half IS NULL AND (role <> 'async' OR start_name IS NULL) AND copied_by IS NULL
UNION ALL
SELECT
    trace_id, device, kernel_id,
    first_value(kernel_id) OVER (
        PARTITION BY trace_id, device, copied_by ORDER BY start_ns, kernel_id
    )
FROM _collective_parts
WHERE copied_by IS NOT NULL;
