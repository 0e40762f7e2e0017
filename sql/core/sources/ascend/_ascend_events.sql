-- One row per event of an Ascend trace that shows device work, with its cells as text: rows of
-- tables of kernels, and of the timeline's hardware and collectives.
--
-- rows: of ascend traces
--
-- trace_id        VARCHAR  trace
-- kernel_id       BIGINT   event_id
-- source          VARCHAR  csv or timeline
-- line_role       VARCHAR  kernel for a table's row, else the role of the timeline's line:
--                          operation (a stream), collective (a group) or detail (parts of its
--                          collectives)
-- pid             VARCHAR  process in the timeline
-- tid             VARCHAR  thread in the timeline
-- device          INTEGER  device, default 0
-- lacks_device    BOOLEAN  its table has a column for the device, and its cell there no number
-- stream          BIGINT   stream, by its number or else by the name of its line in the timeline;
--                          NULL for a row that stands for a whole collective
-- start_ns        BIGINT   start, ns
-- dur_ns          BIGINT   duration, ns
-- end_ns          BIGINT   end, ns
-- name            VARCHAR  name
-- type_text       VARCHAR  op type as written
-- core_text       VARCHAR  accelerator core or task type as written
-- cells           VARCHAR[]  other cells: step, model, task, context, wait, blocks, blocks of the
--                            second core, state, input formats, output shapes, types, formats,
--                            connection, start
-- input_dims      VARCHAR  shapes of the inputs, JSON
-- input_types     VARCHAR  types of the inputs, JSON
-- content         UBIGINT  hash of all of a table's row
CREATE VIEW _ascend_events AS
WITH ascend AS (
    SELECT trace_id FROM traces WHERE format = 'ascend'
),
device_lines AS (
    SELECT
        trace_id, pid, tid, role, device,
        TRY_CAST(regexp_extract(thread, '^Stream (\d+)$', 1) AS BIGINT) AS stream
    FROM _lines
    SEMI JOIN ascend USING (trace_id)
    WHERE role IN ('operation', 'collective', 'detail')
),
table_rows AS (
    SELECT
        trace_id, event_id, device, stream, start_ns, dur_ns, end_ns, name, input_dims,
        input_types, hash(args) AS content,
        json_extract_string(args, [
            '$.op_type', '$.core', '$.step_id', '$.model_id', '$.task_id', '$.context_id', '$.wait',
            '$.block_num', '$.mix_block_num', '$.op_state', '$.input_formats', '$.output_shapes',
            '$.output_dtypes', '$.output_formats', '$.device_id', '$.start'
        ]) AS found
    FROM events
    SEMI JOIN ascend USING (trace_id)
    WHERE lane = 'device' AND category = 'kernel'
),
line_rows AS (
    SELECT
        events.trace_id, events.event_id, events.pid, events.tid,
        coalesce(events.device, shown.device, 0) AS device, events.stream,
        shown.stream AS named_stream, events.start_ns, events.dur_ns, events.end_ns, events.name,
        shown.role,
        json_extract_string(events.args, [
            '$."Task Type"', '$."task type"', '$."Model Id"', '$."model id"', '$."Task Id"',
            '$."task id"', '$."Subtask Id"', '$."context id"', '$.connection_id', '$."stream id"',
            -- Exporters of 2025 and later write the stream in this form.
            '$."Physic Stream Id"'
        ]) AS found
    FROM events
    JOIN device_lines AS shown
        ON shown.trace_id = events.trace_id AND shown.pid = events.pid AND shown.tid = events.tid
    -- A reader that cannot tell the device from the name of a process assigns it to the host.
    WHERE events.lane IN ('device', 'host') AND events.ph = 'X' AND events.category IS NULL
)
SELECT
    trace_id, event_id AS kernel_id, 'csv' AS source, 'kernel' AS line_role,
    CAST(NULL AS VARCHAR) AS pid, CAST(NULL AS VARCHAR) AS tid, coalesce(device, 0) AS device,
    found[15] IS NOT NULL AND TRY_CAST(found[15] AS INTEGER) IS NULL AS lacks_device,
    stream, start_ns, dur_ns, end_ns, name, _ascend_text(found[1]) AS type_text,
    _ascend_text(found[2]) AS core_text,
    found[3:14] || [NULL, found[16]] AS cells, input_dims, input_types, content
FROM table_rows
UNION ALL
SELECT
    trace_id, event_id, 'timeline', role, pid, tid, device, FALSE,
    CASE
        WHEN role <> 'collective'
            THEN coalesce(
                stream, TRY_CAST(found[10] AS BIGINT), TRY_CAST(found[11] AS BIGINT), named_stream
            )
    END,
    start_ns, dur_ns, end_ns, name, NULL,
    coalesce(
        _ascend_text(found[1]), _ascend_text(found[2]),
        if(role = 'operation', NULL, 'COMMUNICATION')
    ),
    [
        NULL, coalesce(found[3], found[4]), coalesce(found[5], found[6]),
        coalesce(nullif(found[7], '4294967295'), found[8]), NULL, NULL, NULL, NULL, NULL, NULL,
        NULL, NULL, found[9]
    ],
    NULL, NULL, NULL
FROM line_rows;
