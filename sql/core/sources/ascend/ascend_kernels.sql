-- One row per device row of an Ascend trace, counted or not, from tables of kernels and from the
-- timeline, with the columns of such tables.
--
-- The chip's counters are not here; their names differ from file to file.
--
-- key: trace_id, kernel_id
--
-- trace_id         VARCHAR  trace
-- rank             INTEGER  rank in the job, NULL if unknown
-- device           INTEGER  device, default 0
-- stream           BIGINT   stream, NULL for a logical collective
-- kernel_id        BIGINT   event_id of the row
-- source           VARCHAR  csv or timeline
-- start_ns         BIGINT   start in ns on the file's clock
-- dur_ns           BIGINT   duration, ns
-- dur_us           DOUBLE   duration, µs
-- end_ns           BIGINT   end, ns
-- name             VARCHAR  name
-- op_type          VARCHAR  op type; found in the name where the row has none
-- op_type_folded   VARCHAR  op type shared by all variants
-- op_category      VARCHAR  category as named for Ascend's operators, from ascend_op_types
-- sub_category     VARCHAR  subdivision of the category
-- core             VARCHAR  accelerator core or task type, NULL if not given
-- core_group       VARCHAR  cube, vector, aicpu, dsa, dvpp, communication, memory, control, other
--                           or unknown
-- comm_role        VARCHAR  logical, physical, service or task for rows of a collective, else
--                           compute
-- comm_kind        VARCHAR  kind of collective, like allreduce
-- comm_group       VARCHAR  end of the group's id in the collective's name, else in its partner's
--                           name
-- counted          BOOLEAN  kernels has it
-- dup_of           BIGINT   kernel_id of the row that owns the time, if this one does not count
-- dup_reason       VARCHAR  rule of kernel_duplicates that excludes it
-- unpaired         BOOLEAN  a physical or service row without the logical one
-- partner_id       BIGINT   kernel_id of the collective's other row; if several, the vector
--                           kernel's
-- partner_stream   BIGINT   stream of that row
-- partner_task     BIGINT   task of that row
-- step_id          INTEGER  step of the profiler's schedule
-- model_id         BIGINT   model, NULL for none
-- task_id          BIGINT   task; counts to 65535 on a stream, then restarts at 0
-- context_id       BIGINT   part of the task
-- wait_ns          BIGINT   wait as the profiler counts it, over all streams, ns; NULL in the
--                           export of msprof-analyze, which counts from the start of the task
--                           before
-- block_num        INTEGER  blocks launched
-- mix_block_num    INTEGER  blocks on the second kind of core
-- op_state         VARCHAR  dynamic or static
-- input_dims       VARCHAR  shapes of the inputs, JSON: a list per slot, [] for a scalar, null for
--                           no tensor
-- input_types      VARCHAR  types of the inputs, JSON
-- input_formats    VARCHAR  formats of the inputs, separated by semicolons
-- output_dims      VARCHAR  shapes of the outputs, JSON
-- output_types     VARCHAR  types of the outputs, JSON
-- output_formats   VARCHAR  formats of the outputs, separated by semicolons
CREATE VIEW ascend_kernels AS
WITH pairs AS (
    SELECT trace_id, kernel_id, twin_id, rule
    FROM _ascend_pairs
    WHERE rule IN ('aiv_exact', 'aiv_near', 'aicpu_service') AND twin_id IS NOT NULL
),
partners AS (
    -- Seen from both sides. A collective may have a vector kernel and a service row.
    SELECT trace_id, kernel_id, min_by(partner_id, row(rule = 'aicpu_service', partner_id))
        AS partner_id
    FROM (
        SELECT trace_id, kernel_id, twin_id AS partner_id, rule FROM pairs
        UNION ALL
        SELECT trace_id, twin_id, kernel_id, rule FROM pairs
    )
    GROUP BY trace_id, kernel_id
),
partnered AS (
    SELECT
        partners.trace_id, partners.kernel_id, partner_id, _ascend_rows.name, _ascend_rows.stream,
        _ascend_rows.task_id
    FROM partners
    JOIN _ascend_rows
        ON _ascend_rows.trace_id = partners.trace_id
        AND _ascend_rows.kernel_id = partners.partner_id
)
SELECT
    _ascend_rows.trace_id,
    traces.rank,
    _ascend_rows.device,
    _ascend_rows.stream,
    _ascend_rows.kernel_id,
    _ascend_rows.source,
    _ascend_rows.start_ns,
    _ascend_rows.dur_ns,
    _ascend_rows.dur_ns / 1000.0 AS dur_us,
    _ascend_rows.end_ns,
    _ascend_rows.name,
    _ascend_rows.op_type,
    _ascend_rows.op_type_folded,
    _ascend_rows.op_category,
    _ascend_rows.sub_category,
    _ascend_rows.core,
    _ascend_rows.core_group,
    _ascend_rows.comm_role,
    _ascend_rows.comm_kind,
    CASE
        WHEN comm_role IN ('logical', 'physical', 'service')
            THEN coalesce(
                nullif(split_part(split_part(_ascend_rows.name, '__', 2), '_', 1), ''),
                nullif(split_part(split_part(partnered.name, '__', 2), '_', 1), '')
            )
    END AS comm_group,
    _duplicates.kernel_id IS NULL
        AND core_group <> 'control'
        AND _ascend_rows.dur_ns IS NOT NULL AS counted,
    _duplicates.twin_id AS dup_of,
    _duplicates.rule AS dup_reason,
    comm_role IN ('physical', 'service')
        AND partner_id IS NULL
        AND _duplicates.rule IS DISTINCT FROM 'timeline_twin' AS unpaired,
    partnered.partner_id,
    partnered.stream AS partner_stream,
    partnered.task_id AS partner_task,
    _ascend_rows.step_id,
    _ascend_rows.model_id,
    _ascend_rows.task_id,
    _ascend_rows.context_id,
    _ascend_rows.wait_ns,
    _ascend_rows.block_num,
    _ascend_rows.mix_block_num,
    _ascend_rows.op_state,
    _ascend_rows.input_dims,
    _ascend_rows.input_types,
    _ascend_rows.input_formats,
    _ascend_rows.output_dims,
    _ascend_rows.output_types,
    _ascend_rows.output_formats
FROM _ascend_rows
JOIN traces USING (trace_id)
LEFT JOIN _duplicates USING (trace_id, kernel_id)
LEFT JOIN partnered USING (trace_id, kernel_id);
