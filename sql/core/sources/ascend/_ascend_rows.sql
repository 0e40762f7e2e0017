-- Shapes of an Ascend table as JSON: a list per slot, [] for a scalar, null for an absent tensor.
--
-- Slots are separated by semicolons. An empty one is a scalar where its type is known, and no
-- tensor where the type is undefined. A last empty slot without a type is not a slot. Brackets
-- around slots are removed before.
CREATE MACRO _ascend_dims(shapes, types) AS
    CASE
        WHEN shapes IS NULL OR shapes = 'N/A' THEN NULL
        WHEN
            shapes <> ''
            AND shapes[1] <> ';'
            AND shapes[-1] <> ';'
            AND NOT contains(shapes, ';;')
            AND NOT contains(shapes, '(')
            AND len(shapes) - len(replace(shapes, ';', ''))
                >= len(coalesce(types, '')) - len(replace(coalesce(types, ''), ';', ''))
            THEN '[[' || replace(shapes, ';', '],[') || ']]'
        ELSE
            '[' || array_to_string(
                list_transform(
                    range(
                        1,
                        1 + CASE
                            WHEN
                                shapes[-1] = ';'
                                AND len(string_split(shapes, ';'))
                                    = len(string_split(types, ';')) + 1
                                THEN len(string_split(types, ';'))
                            ELSE
                                greatest(
                                    len(string_split(shapes, ';')),
                                    coalesce(len(string_split(types, ';')), 0)
                                )
                        END
                    ),
                    LAMBDA slot: CASE
                        WHEN coalesce(string_split(shapes, ';')[slot], '') NOT IN ('', '()')
                            THEN '[' || string_split(shapes, ';')[slot] || ']'
                        WHEN
                            string_split(shapes, ';')[slot] = '()'
                            OR string_split(types, ';')[slot]
                                NOT IN ('UNDEFINED', 'DT_UNDEFINED', 'N/A', '')
                            THEN '[]'
                        ELSE 'null'
                    END
                ),
                ','
            ) || ']'
    END;

-- One row per distinct op type, unit and, where a row has no type, name of the device rows of an
-- Ascend trace: their classification.
--
-- A row without a type takes it from its name: the third part of an aclnn name; else the longest
-- known type that the name begins with, without a leading trans_, if only a number follows; else
-- the name. For collectives, whose names end in numbers of a group and a call, all of these are
-- removed. Variants fold into one type: a number at the end of a lower-case symbol, the suffixes
-- that show where or how an operation was compiled, and the types of elements in the names of
-- ATB's kernels (AddBF16Kernel, ConcatF16Input2Kernel); a known type stays as it is.
--
-- A unit that ascend_cores does not have is that of a kernel (other), unless it is called a wait or
-- a record and the row has no type of its own: chips to come signal by other names.
CREATE VIEW _ascend_types AS
WITH written AS (
    SELECT DISTINCT
        trace_id, type_text, core_text, if(type_text IS NULL, name, NULL) AS untyped_name
    FROM _ascend_events
    WHERE line_role <> 'detail'
),
untyped AS (
    SELECT
        untyped_name,
        if(
            starts_with(untyped_name, 'aclnn'),
            array_to_string(string_split(untyped_name, '_')[3:], '_'),
            ''
        ) AS third_part,
        regexp_extract(untyped_name, '^hcom_[a-zA-Z]+_') AS collective,
        regexp_replace(untyped_name, '^trans_', '') AS named
    FROM (SELECT DISTINCT untyped_name FROM written)
    WHERE untyped_name IS NOT NULL
),
numbered AS (
    SELECT
        untyped_name,
        named,
        regexp_extract(named, '^(.*?)(_?)([0-9]*)$', ['stem', 'dash', 'number']) AS parts
    FROM untyped
    WHERE third_part = '' AND collective = ''
),
beginnings AS (
    -- The number may begin inside the type's own: MatMulV212 is the twelfth MatMulV2.
    SELECT
        untyped_name,
        lower(
            parts.stem || if(digits IS NULL, '', parts.dash || left(parts.number, digits))
        ) AS beginning
    FROM numbered
    CROSS JOIN unnest(list_append(range(0, least(len(parts.number), 20) + 1), NULL)) AS cut(digits)
),
recognised AS (
    SELECT untyped_name, max_by(op_type, row(len(op_type), op_type)) AS op_type
    FROM beginnings
    JOIN ascend_op_types ON lower(ascend_op_types.op_type) = beginning
    GROUP BY untyped_name
),
typed AS (
    SELECT
        written.trace_id, type_text, core_text, written.untyped_name,
        coalesce(
            type_text,
            nullif(third_part, ''),
            recognised.op_type,
            nullif(collective, ''),
            written.untyped_name
        ) AS op_type
    FROM written
    LEFT JOIN untyped USING (untyped_name)
    LEFT JOIN recognised USING (untyped_name)
),
folded AS (
    SELECT
        op_type,
        CASE
            WHEN lower(op_type) IN (SELECT lower(ascend_op_types.op_type) FROM ascend_op_types)
                THEN op_type
            ELSE regexp_replace(
                regexp_replace(
                    regexp_replace(op_type, '^([^A-Z]*[^A-Z0-9])_\d{1,2}$', '\1'),
                    '(.)(AiCore|Aicore|WithImplMode)$',
                    '\1'
                ),
                '^([A-Z]\w*?)(95)?((B?F|Bf|[IU]|Bfloat|Float|U?[Ii]nt)(8|16|32|64)(to)?|16|32|64)+'
                '((Input|Output)\d)?Kernel$',
                '\1'
            )
        END AS op_type_folded,
        lower(replace(op_type, '_', '')) AS plain
    FROM (SELECT DISTINCT op_type FROM typed)
),
patterned AS (
    SELECT op_type, arg_min(ascend_op_patterns.op_category, priority) AS op_category
    FROM folded
    JOIN ascend_op_patterns ON lower(op_type_folded) GLOB lower(pattern)
    GROUP BY op_type
),
categorised AS (
    SELECT
        folded.op_type, op_type_folded, plain,
        coalesce(ascend_op_types.op_category, patterned.op_category, 'other') AS op_category,
        ascend_op_types.sub_category
    FROM folded
    LEFT JOIN ascend_op_types ON lower(ascend_op_types.op_type) = lower(op_type_folded)
    LEFT JOIN patterned ON patterned.op_type = folded.op_type
),
units AS (
    SELECT
        word, arg_min(core_group, priority) AS core_group,
        arg_min(of_collectives, priority) AS of_collectives
    FROM (
        SELECT core_text AS word FROM written
        UNION
        SELECT op_type FROM typed WHERE type_text IS NULL
    )
    JOIN ascend_cores ON upper(word) GLOB upper(pattern)
    GROUP BY word
)
SELECT
    typed.trace_id,
    typed.type_text,
    typed.core_text,
    typed.untyped_name,
    typed.op_type,
    categorised.op_type_folded,
    categorised.op_category,
    categorised.sub_category,
    CASE
        WHEN coalesce(units.core_group, 'unknown') <> 'unknown' THEN units.core_group
        -- At a low profiling level the name of a task is its kind.
        WHEN core_text IS NULL OR units.core_group = 'unknown'
            THEN coalesce(nullif(named_units.core_group, 'communication'), 'unknown')
        WHEN
            coalesce(typed.type_text, core_text) = core_text
            AND regexp_matches(core_text, '[ _](wait|record)([ _]value)?(_sqe)?$', 'i')
            THEN 'control'
        ELSE 'other'
    END AS core_group,
    coalesce(units.of_collectives, FALSE) AS of_collectives,
    coalesce(starts_with(plain, 'hcom'), FALSE) AS of_hcom,
    CASE
        WHEN starts_with(plain, 'hcom') OR plain GLOB '*aivkernel' OR plain GLOB '*aicpukernel'
            THEN nullif(regexp_replace(plain, '^hcom|(aivkernel|aicpukernel)$', '', 'g'), '')
    END AS comm_kind
FROM typed
LEFT JOIN categorised USING (op_type)
LEFT JOIN units ON units.word = typed.core_text
LEFT JOIN units AS named_units ON named_units.word = typed.op_type AND typed.type_text IS NULL;

-- One row per device row of an Ascend trace, of its tables of kernels and of its timeline.
--
-- A collective has several rows: logical is the whole call, without a stream; physical the kernel
-- that is the whole collective on the vector cores; service the AI CPU's part; task a copy or
-- signal of a collective. Lines of the timeline that show only such parts have no rows here.
--
-- A profiler's folder belongs to one device, whose number may be missing in either file: then the
-- other's is used. A row whose device is N/A belongs to the one device that all other rows of the
-- tables name, if there is one.
--
-- stored: per ascend trace
--
-- trace_id        VARCHAR  trace
-- kernel_id       BIGINT   event_id
-- source          VARCHAR  csv or timeline
-- pid             VARCHAR  process in the timeline
-- tid             VARCHAR  thread in the timeline
-- device          INTEGER  device, default 0
-- stream          BIGINT   stream, NULL for a logical collective
-- start_ns        BIGINT   start, ns
-- dur_ns          BIGINT   duration, ns
-- end_ns          BIGINT   end, ns
-- name            VARCHAR  name
-- op_type         VARCHAR  op type; found in the name where the row has none
-- op_type_folded  VARCHAR  op type shared by all variants
-- op_category     VARCHAR  category as named for Ascend's operators, from ascend_op_types
-- sub_category    VARCHAR  subdivision of the category
-- core            VARCHAR  accelerator core or task type, NULL if not given
-- core_group      VARCHAR  group of the core, from ascend_cores
-- comm_role       VARCHAR  logical, physical, service, task or compute
-- comm_kind       VARCHAR  kind of collective, like allreduce; NULL for others
-- step_id         INTEGER  step of the profiler's schedule
-- model_id        BIGINT   model, NULL for none
-- task_id         BIGINT   task; counts to 65535 on a stream, then restarts at 0
-- context_id      BIGINT   part of the task
-- wait_ns         BIGINT   wait as the profiler counts it, ns; NULL in the export of
--                          msprof-analyze, which counts from the start of the task before
-- block_num       INTEGER  blocks launched
-- mix_block_num   INTEGER  blocks on the second kind of core
-- op_state        VARCHAR  dynamic or static
-- input_dims      VARCHAR  shapes of the inputs, JSON
-- input_types     VARCHAR  types of the inputs, JSON
-- output_dims     VARCHAR  shapes of the outputs, JSON
-- output_types    VARCHAR  types of the outputs, JSON
-- input_formats   VARCHAR  formats of the inputs, separated by semicolons
-- output_formats  VARCHAR  formats of the outputs, separated by semicolons
-- correlation     BIGINT   id shared with the launch, in the timeline
-- content         UBIGINT  hash of all of a table's row
-- start_rounded   BOOLEAN  its start was written with an exponent and no digits of single µs
CREATE VIEW _ascend_rows AS
WITH devices AS (
    SELECT
        trace_id,
        coalesce(
            min(device) FILTER (source = 'csv' AND NOT lacks_device),
            min(device) FILTER (source = 'csv')
        ) AS listed,
        coalesce(
            max(device) FILTER (source = 'csv' AND NOT lacks_device),
            max(device) FILTER (source = 'csv')
        ) AS listed_last,
        min(device) FILTER (source = 'timeline') AS shown,
        max(device) FILTER (source = 'timeline') AS shown_last
    FROM _ascend_events
    WHERE line_role <> 'detail'
    GROUP BY trace_id
),
one_device AS (
    SELECT
        trace_id,
        if(
            coalesce(shown, 0) = 0 OR contains(traces.metadata, '"device_id"'), listed, shown
        ) AS device
    FROM devices
    JOIN traces USING (trace_id)
    WHERE listed = listed_last AND shown IS NOT DISTINCT FROM shown_last
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
        -- The type is not that of a collective, so only the name can show it.
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
        translate(replace(replace(cells[10], ' ', ''), '],[', ';'), '[]"', ''),
        replace(replace(cells[11], '"', ''), ' ', '')
    ) AS output_dims,
    '["' || replace(_ascend_text(cells[11]), ';', '","') || '"]' AS output_types,
    _ascend_text(cells[9]) AS input_formats,
    _ascend_text(cells[12]) AS output_formats,
    CASE WHEN TRY_CAST(cells[13] AS BIGINT) >= 0 THEN TRY_CAST(cells[13] AS BIGINT) END
        AS correlation,
    content,
    -- 1.69512E+15 has five digits behind the point, and needs fifteen.
    contains(upper(cells[14]), 'E')
        AND TRY_CAST(split_part(upper(cells[14]), 'E', 2) AS INTEGER)
            > length(split_part(split_part(upper(cells[14]), 'E', 1), '.', 2)) AS start_rounded
FROM typed;
