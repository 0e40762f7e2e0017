-- One row per collective of an Ascend device whose size or group is in the profiler's timeline:
-- HCCL counts the input of a rank, or for a reduce-scatter its output. A collective that a table of
-- kernels lists as well is given as the table's row.
--
-- rows: of ascend traces
--
-- trace_id      VARCHAR  trace
-- kernel_id     BIGINT   event_id of the operation
-- dtype         VARCHAR  type of the elements
-- group_size    BIGINT   ranks in its group; only newer exporters write it
-- input_bytes   DOUBLE   input of the rank, bytes
-- output_bytes  DOUBLE   output of the rank, bytes; NULL if it follows from the ranks
CREATE VIEW _hccl_payloads AS
WITH shown AS (
    SELECT
        trace_id, kernel_id AS event_id,
        if(dup_reason = 'timeline_twin', coalesce(dup_of, kernel_id), kernel_id) AS kernel_id,
        comm_kind
    FROM ascend_kernels
    WHERE source = 'timeline' AND comm_role = 'logical'
),
written AS (
    SELECT
        shown.trace_id, shown.kernel_id, comm_kind,
        json_extract_string(args, ['$.data_type', '$.count', '$.rank_size']) AS found
    FROM events
    JOIN shown ON shown.trace_id = events.trace_id AND shown.event_id = events.event_id
    WHERE lane IN ('host', 'device')
),
sized AS (
    SELECT
        trace_id, kernel_id, comm_kind, dtypes.dtype,
        dtypes.bytes * TRY_CAST(found[2] AS BIGINT) AS bytes,
        nullif(greatest(TRY_CAST(found[3] AS BIGINT), 0), 0) AS group_size
    FROM written
    LEFT JOIN dtypes ON dtypes.token = lower(found[1])
)
SELECT
    trace_id, kernel_id, any_value(dtype) AS dtype, any_value(group_size) AS group_size,
    any_value(CASE WHEN comm_kind <> 'reducescatter' THEN bytes END) AS input_bytes,
    any_value(CASE WHEN comm_kind <> 'allgather' THEN bytes END) AS output_bytes
FROM sized
WHERE bytes IS NOT NULL OR group_size IS NOT NULL
GROUP BY trace_id, kernel_id;
