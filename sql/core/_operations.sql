-- One row per device operation of a trace file: kernels, copies and fills, before names are read
-- and launches found.
-- trace_id        VARCHAR  trace
-- kernel_id       BIGINT   event_id of the operation
-- device          INTEGER  device it ran on
-- stream          BIGINT   stream it ran on
-- start_ns        BIGINT   start, ns
-- dur_ns          BIGINT   duration, ns
-- end_ns          BIGINT   end, ns
-- name            VARCHAR  full name
-- called          VARCHAR  text that it is classified by: the name, for Ascend the op type
-- source          VARCHAR  for Ascend, csv or timeline
-- op_type         VARCHAR  for Ascend, the op type
-- op_category     VARCHAR  for Ascend, the category as named for its operators
-- core            VARCHAR  for Ascend, the accelerator core
-- core_group      VARCHAR  for Ascend, the group of the core
-- input_dims      VARCHAR  shapes of its inputs, JSON, if it has them itself
-- input_types     VARCHAR  types of its inputs, JSON, if it has them itself
-- event_category  VARCHAR  category in the file
-- correlation     BIGINT   id shared with the launch
-- external_id     BIGINT   id shared with the operator
-- scope           VARCHAR  rank of its process, in a file merged from several; see _scope
CREATE VIEW _operations AS
WITH plain AS (
    SELECT trace_id FROM traces WHERE format IS DISTINCT FROM 'ascend'
),
operation_categories AS (
    SELECT category FROM event_categories WHERE role = 'operation'
),
partners AS (
    -- A collective executed by one kernel ran on the kernel's stream.
    SELECT _ascend_pairs.trace_id, _ascend_pairs.twin_id AS kernel_id, _ascend_rows.stream
    FROM _ascend_pairs
    JOIN _ascend_rows USING (trace_id, kernel_id)
    WHERE rule IN ('aiv_exact', 'aiv_near')
)
SELECT
    events.trace_id,
    events.event_id AS kernel_id,
    coalesce(processes.merged_device, events.device, processes.device, 0) AS device,
    coalesce(events.stream, TRY_CAST(events.tid AS BIGINT)) AS stream,
    events.start_ns,
    events.dur_ns,
    events.end_ns,
    events.name,
    events.name AS called,
    CAST(NULL AS VARCHAR) AS source,
    CAST(NULL AS VARCHAR) AS op_type,
    CAST(NULL AS VARCHAR) AS op_category,
    CAST(NULL AS VARCHAR) AS core,
    CAST(NULL AS VARCHAR) AS core_group,
    CAST(NULL AS VARCHAR) AS input_dims,
    CAST(NULL AS VARCHAR) AS input_types,
    events.category AS event_category,
    nullif(events.correlation, 0) AS correlation,
    events.external_id,
    _scope(events.pid) AS scope
FROM events
SEMI JOIN plain ON plain.trace_id = events.trace_id
LEFT JOIN _lines
    ON _lines.trace_id = events.trace_id AND _lines.pid = events.pid AND _lines.tid = events.tid
LEFT JOIN device_processes AS processes
    ON processes.trace_id = events.trace_id AND processes.pid = events.pid
WHERE
    events.lane = 'device'
    AND events.dur_ns IS NOT NULL
    AND (
        events.category IN (SELECT category FROM operation_categories)
        OR _lines.role = 'operation'
    )
UNION ALL
SELECT
    trace_id, kernel_id, device, coalesce(_ascend_rows.stream, partners.stream), start_ns, dur_ns,
    end_ns, name, op_type_folded, source, op_type, op_category, core, core_group, input_dims,
    input_types, 'kernel', correlation, NULL, ''
FROM _ascend_rows
LEFT JOIN partners USING (trace_id, kernel_id)
ANTI JOIN _duplicates USING (trace_id, kernel_id)
WHERE start_ns IS NOT NULL AND dur_ns IS NOT NULL AND core_group <> 'control';
