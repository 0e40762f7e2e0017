-- One row per device row of an Ascend trace, of its tables of kernels and of its timeline.
--
-- A collective has several rows: logical is the whole call, without a stream; physical the kernel
-- that is the whole collective on the vector cores; service the AI CPU's part; task a copy or
-- signal of a collective. Lines of the timeline that show only such parts have no rows here.
--
-- A profiler's folder is of one device, of which either file may not say the number: then it has
-- the other's.
--
-- Materialised per trace of format ascend.
--
-- trace_id        VARCHAR  trace
-- kernel_id       BIGINT   event_id
-- source          VARCHAR  csv or timeline
-- pid             VARCHAR  process in the timeline
-- tid             VARCHAR  thread in the timeline
-- device          INTEGER  device, 0 where nothing says it
-- stream          BIGINT   stream, NULL for a logical collective
-- start_ns        BIGINT   start, ns
-- dur_ns          BIGINT   duration, ns
-- end_ns          BIGINT   end, ns
-- name            VARCHAR  name
-- op_type         VARCHAR  op type; found in the name where the row has none
-- op_type_folded  VARCHAR  op type without what tells variants apart
-- op_category     VARCHAR  category in the words of Ascend's operators, from ascend_op_types
-- sub_category    VARCHAR  what sets it apart within the category
-- core            VARCHAR  accelerator core or task type, NULL where not said
-- core_group      VARCHAR  group of the core, from ascend_cores
-- comm_role       VARCHAR  logical, physical, service, task or compute
-- comm_kind       VARCHAR  kind of collective, like allreduce; NULL for others
-- step_id         INTEGER  step of the profiler's schedule
-- model_id        BIGINT   model, NULL for none
-- task_id         BIGINT   task; counts to 65535 on a stream, then from 0 again
-- context_id      BIGINT   part of the task
-- wait_ns         BIGINT   wait as the profiler counts it, ns
-- block_num       INTEGER  blocks launched
-- mix_block_num   INTEGER  blocks on the second kind of core
-- op_state        VARCHAR  dynamic or static
-- input_dims      VARCHAR  shapes of the inputs, JSON
-- input_types     VARCHAR  types of the inputs, JSON
-- output_dims     VARCHAR  shapes of the outputs, JSON
-- output_types    VARCHAR  types of the outputs, JSON
-- input_formats   VARCHAR  formats of the inputs, parted by semicolons
-- output_formats  VARCHAR  formats of the outputs, parted by semicolons
-- correlation     BIGINT   id shared with the launch, in the timeline
-- content         UBIGINT  hash of all of a table's row
CREATE VIEW _ascend_rows AS
WITH devices AS (
    SELECT
        trace_id,
        min(device) FILTER (source = 'csv') AS listed,
        max(device) FILTER (source = 'csv') AS listed_last,
        min(device) FILTER (source = 'timeline') AS shown,
        max(device) FILTER (source = 'timeline') AS shown_last
    FROM _ascend_events
    WHERE line_role <> 'detail'
    GROUP BY trace_id
),
one_device AS (
    SELECT
        trace_id,
        if(shown = 0 OR contains(traces.metadata, '"device_id"'), listed, shown) AS device
    FROM devices
    JOIN traces USING (trace_id)
    WHERE listed = listed_last AND shown = shown_last
),
typed AS (
    SELECT
        _ascend_events.trace_id, kernel_id, source, pid, tid,
        coalesce(one_device.device, _ascend_events.device) AS device, stream, start_ns, dur_ns,
        end_ns, name, op_type, op_type_folded, op_category, sub_category,
        _ascend_events.core_text AS core, core_group, of_hcom, of_collectives, comm_kind, cells,
        input_dims, input_types, content,
        CASE
            WHEN op_category = 'comm_service' OR ends_with(lower(name), 'aicpukernel')
                THEN 'service'
            WHEN contains(name, 'AivKernel') OR (of_hcom AND stream IS NOT NULL) THEN 'physical'
            WHEN of_hcom OR (core_group = 'communication' AND stream IS NULL) THEN 'logical'
            WHEN of_collectives AND stream IS NOT NULL THEN 'task'
            ELSE 'compute'
        END AS comm_role
    FROM _ascend_events
    JOIN _ascend_types
        ON _ascend_types.trace_id = _ascend_events.trace_id
        AND _ascend_types.type_text IS NOT DISTINCT FROM _ascend_events.type_text
        AND _ascend_types.core_text IS NOT DISTINCT FROM _ascend_events.core_text
        AND _ascend_types.untyped_name IS NOT DISTINCT FROM if(
            _ascend_events.type_text IS NULL, _ascend_events.name, NULL
        )
    LEFT JOIN one_device ON one_device.trace_id = _ascend_events.trace_id
    WHERE line_role <> 'detail'
)
SELECT
    trace_id, kernel_id, source, pid, tid, device, stream, start_ns, dur_ns, end_ns, name, op_type,
    op_type_folded, op_category, sub_category, core, core_group, comm_role,
    CASE
        WHEN comm_role IN ('compute', 'task') THEN NULL
        WHEN comm_kind IS NOT NULL THEN comm_kind
        -- The type is no collective's, so only the name can say it.
        ELSE nullif(
            regexp_extract(
                lower(replace(name, '_', '')),
                'reducescatterv?|allreduce|allgatherv?|alltoall(?:vc?)?|broadcast|batchsendrecv'
                || '|send|receive|scatter|reduce|gather|barrier'
            ),
            ''
        )
    END AS comm_kind,
    TRY_CAST(cells[1] AS INTEGER) AS step_id,
    nullif(TRY_CAST(cells[2] AS BIGINT), 4294967295) AS model_id,
    TRY_CAST(cells[3] AS BIGINT) AS task_id,
    TRY_CAST(cells[4] AS BIGINT) AS context_id,
    TRY_CAST(TRY_CAST(cells[5] AS DECIMAL(28, 9)) * 1000 AS BIGINT) AS wait_ns,
    TRY_CAST(cells[6] AS INTEGER) AS block_num,
    TRY_CAST(cells[7] AS INTEGER) AS mix_block_num,
    _ascend_text(cells[8]) AS op_state,
    input_dims,
    input_types,
    _ascend_dims(
        replace(replace(cells[10], '"', ''), ' ', ''), replace(replace(cells[11], '"', ''), ' ', '')
    ) AS output_dims,
    '["' || replace(_ascend_text(cells[11]), ';', '","') || '"]' AS output_types,
    _ascend_text(cells[9]) AS input_formats,
    _ascend_text(cells[12]) AS output_formats,
    CASE WHEN TRY_CAST(cells[13] AS BIGINT) >= 0 THEN TRY_CAST(cells[13] AS BIGINT) END
        AS correlation,
    content
FROM typed;
