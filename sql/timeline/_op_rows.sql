-- One row per device operation: those of XLA from their lines, all others from kernels.
-- trace_id        VARCHAR  trace
-- rank            INTEGER  rank in the job, NULL when unknown
-- device          INTEGER  device
-- kernel_id       BIGINT   event_id
-- pid             VARCHAR  process of the line; the device where kernels have no lines
-- tid             VARCHAR  thread of the line; the stream where kernels have no lines
-- role            VARCHAR  op, or async: in flight beside the operations
-- is_xla          BOOLEAN  it is an instruction or kernel of a program that XLA compiled
-- start_ns        BIGINT   start, ns
-- end_ns          BIGINT   end, ns
-- name            VARCHAR  name
-- display_name    VARCHAR  name to show, NULL for operations of XLA
-- category        VARCHAR  kernel category, NULL for operations of XLA
-- kind            VARCHAR  compute, communication or memory, NULL for operations of XLA
-- copies          BOOLEAN  the line shows copies alone
-- input_dims      VARCHAR  shapes of the operator's inputs, JSON
-- input_types     VARCHAR  types of the operator's inputs, JSON
-- said            VARCHAR[]  arguments of an operation of XLA: hlo_category, tf_op, long_name,
--                            shape_with_layout, deduplicated_name, model_flops, bytes_accessed,
--                            raw_bytes_accessed, hlo_module, source
CREATE VIEW _op_rows AS
WITH xla_lines AS (
    SELECT
        trace_id, rank, device, pid, tid, CASE role WHEN 'async' THEN 'async' ELSE 'op' END AS role,
        contains(thread, 'Memcpy') AND NOT contains(thread, 'Kernel') AS copies
    FROM lines
    WHERE role IN ('operation', 'async') AND starts_with(process, '/device:')
),
xla_traces AS (
    SELECT DISTINCT trace_id FROM xla_lines
)
SELECT
    events.trace_id, xla_lines.rank, xla_lines.device, event_id AS kernel_id, events.pid,
    events.tid, xla_lines.role, TRUE AS is_xla, start_ns, end_ns, name,
    CAST(NULL AS VARCHAR) AS display_name, CAST(NULL AS VARCHAR) AS category,
    CAST(NULL AS VARCHAR) AS kind, copies, input_dims, input_types,
    json_extract_string(
        args,
        [
            '$.hlo_category', '$.tf_op', '$.long_name', '$.shape_with_layout',
            '$.deduplicated_name', '$.model_flops', '$.bytes_accessed', '$.raw_bytes_accessed',
            '$.hlo_module', '$.source'
        ]
    ) AS said
FROM events
JOIN xla_lines USING (trace_id, pid, tid)
WHERE lane = 'device' AND dur_ns >= 0
UNION ALL
SELECT
    trace_id, rank, device, kernel_id, coalesce(CAST(device AS VARCHAR), ''),
    coalesce(CAST(stream AS VARCHAR), ''),
    'op', FALSE, start_ns, end_ns, name, display_name, category, kind, FALSE, input_dims,
    input_types, CAST(NULL AS VARCHAR[])
FROM kernels
ANTI JOIN xla_traces USING (trace_id)
WHERE dur_ns >= 0;
