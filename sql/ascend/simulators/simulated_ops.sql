-- An operator's name without the namespace of PyTorch and without its overload: aten.mm.
CREATE MACRO _op_base(op_name) AS regexp_replace(
    regexp_replace(op_name, '^torch\.ops\.', ''), '^(\w+\.\w+)\.\w+$', '\1'
);

-- One row per operator of a simulator's trace, or of its summary of operators, and kernel that it
-- stands for: the simulator's estimate of the time of a forward pass.
--
-- A simulator's Chrome trace has a row for every call; in a trace with two models, the one with
-- measurements is used. A fused operator is split in proportion to the durations of its kernels, or
-- equally if the trace has none.
--
-- key: trace_id, event_id, part
--
-- trace_id     VARCHAR  trace
-- event_id     BIGINT   row of the file
-- part         BIGINT   kernel of the operator, from 1
-- parts        BIGINT   kernels of the operator
-- kind         VARCHAR  trace: a call; summary: all calls of an operator
-- model        VARCHAR  model, in a summary
-- scenario     VARCHAR  what was simulated, in a summary
-- op_name      VARCHAR  operator
-- kernel_type  VARCHAR  type of operation on the device: the file's, else the likeliest of
--                       op_kernel_map; NULL if unknown
-- mapped       BOOLEAN  the file itself names the kernel, or states that it has one
-- source       VARCHAR  source of a call's time: MEASURED, INTERPOLATED, EXTRAPOLATED, PARTIAL;
--                       NULL if the simulator calculated it, and in a summary
-- status       VARCHAR  hit, partial, extrapolated or miss; zero_cost for views of tensors; NULL in
--                       a summary, which lacks it
-- count        BIGINT   calls
-- sum_us       DOUBLE   their time, µs
-- shape_key    VARCHAR  shapes of the inputs, NULL if a summary has several
-- variants     BIGINT   distinct shapes of a summary's operator
CREATE VIEW simulated_ops AS
WITH called AS (
    SELECT e.trace_id, event_id, e.pid, e.name, dur_ns, args
    FROM events AS e
    SEMI JOIN traces ON traces.trace_id = e.trace_id AND traces.format = 'chrome'
    WHERE e.ph = 'X' AND e.dur_ns IS NOT NULL
),
simulators AS (
    SELECT trace_id
    FROM called
    WHERE contains(args, '"kernel_type"') AND contains(args, '"source"')
    GROUP BY trace_id
),
-- Of two models, the one with measurements has a process of that name.
empirical AS (
    SELECT trace_id, pid
    FROM events
    SEMI JOIN simulators USING (trace_id)
    WHERE
        lane = 'meta' AND name = 'process_name'
        AND regexp_matches(lower(args ->> '$.name'), 'profiling|empirical')
),
calls AS (
    SELECT
        called.trace_id, event_id, name AS op_name, dur_ns / 1000.0 AS sum_us,
        nullif(nullif(trim(args ->> '$.kernel_type'), ''), '?') AS types,
        nullif(upper(args ->> '$.source'), '') AS source,
        replace(replace(replace(args ->> '$.sub_kernel_durations', '(', '['), ')', ']'), '''', '"')
            AS durations,
        coalesce(lower(args ->> '$.zero_cost') = 'true', FALSE) AS zero_cost,
        _shape_key(coalesce(args ->> '$.simulation_shapes', args ->> '$."Input Shapes"'))
            AS shape_key
    FROM called
    SEMI JOIN simulators USING (trace_id)
    WHERE
        trace_id NOT IN (SELECT trace_id FROM empirical)
        OR (trace_id, pid) IN (SELECT (trace_id, pid) FROM empirical)
),
pieces AS (
    SELECT
        trace_id, event_id, op_name, sum_us, types, source, zero_cost, shape_key,
        CASE
            WHEN json_valid(durations) AND types IS NOT NULL
                THEN TRY_CAST(CAST(durations AS JSON) AS VARCHAR[][])
        END AS durations
    FROM calls
),
called_kernels AS (
    SELECT
        trace_id, event_id, op_name, sum_us, source, zero_cost, shape_key, durations,
        CASE
            WHEN len(durations) > 0 THEN list_transform(durations, lambda pair: pair[1])
            WHEN types IS NOT NULL
                THEN list_transform(string_split(types, ','), lambda type: trim(type))
        END AS types
    FROM pieces
),
summed AS (
    SELECT
        trace_id, event_id, args ->> '$.op_name' AS op_name, args ->> '$.model' AS model,
        args ->> '$.scenario' AS scenario,
        TRY_CAST(args ->> '$.count' AS BIGINT) AS count,
        TRY_CAST(args ->> '$.total_duration_us' AS DOUBLE) AS sum_us,
        coalesce(args ->> '$.zero_cost', 'false') = 'true' AS zero_cost,
        coalesce(args ->> '$.mapped', args ->> '$.is_mapped') = 'true' AS mapped,
        json_array_length(args -> '$.shape_variants') AS variants,
        args -> '$.shape_variants[0].input_shapes' AS first_shapes,
        CASE
            WHEN json_type(args -> '$.sub_kernels') = 'ARRAY'
                THEN CAST(args -> '$.sub_kernels' AS VARCHAR[])
            WHEN args ->> '$.kernel_type' IS NOT NULL THEN [args ->> '$.kernel_type']
        END AS types
    FROM events
    WHERE lane = 'meta' AND name = 'simulated_op'
),
mapped_ops AS (
    SELECT
        op,
        CASE
            WHEN bool_or(zero_cost) THEN NULL
            WHEN bool_or(part) THEN list(kernel_type ORDER BY place)
            ELSE [min_by(kernel_type, place)]
        END AS types,
        bool_or(zero_cost) AS zero_cost
    FROM op_kernel_map
    GROUP BY op
),
listed AS (
    SELECT
        trace_id, event_id, 'trace' AS kind, NULL AS model, NULL AS scenario, op_name, source,
        CAST(1 AS BIGINT) AS count, sum_us, types IS NOT NULL AS mapped, types, durations,
        zero_cost, shape_key, CAST(NULL AS BIGINT) AS variants
    FROM called_kernels
    UNION ALL
    SELECT
        trace_id, event_id, 'summary', model, scenario, op_name, NULL, count, sum_us, mapped,
        types, NULL, zero_cost,
        CASE
            WHEN variants = 1 THEN array_to_string(
                list_transform(
                    CAST(first_shapes AS VARCHAR[]), lambda shape: translate(shape, '() ', '')
                ),
                ';'
            )
        END,
        CAST(variants AS BIGINT)
    FROM summed
),
resolved AS (
    SELECT
        trace_id, event_id, kind, model, scenario, op_name, source, count, sum_us, mapped,
        durations, listed.zero_cost OR coalesce(known.zero_cost, FALSE) AS zero_cost, shape_key,
        variants,
        coalesce(listed.types, known.types, [CAST(NULL AS VARCHAR)]) AS types
    FROM listed
    LEFT JOIN mapped_ops AS known ON known.op = _op_base(op_name)
),
numbered AS (
    SELECT
        trace_id, event_id, kind, model, scenario, op_name, source, count, sum_us, mapped,
        durations, zero_cost, shape_key, variants, types, unnest(range(1, len(types) + 1)) AS part
    FROM resolved
)
SELECT
    trace_id, event_id, part, len(types) AS parts, kind, model, scenario, op_name,
    types[part] AS kernel_type, mapped, source,
    CASE
        WHEN zero_cost THEN 'zero_cost'
        WHEN kind = 'summary' THEN NULL
        WHEN NOT mapped THEN 'miss'
        WHEN source IN ('MEASURED', 'INTERPOLATED') THEN 'hit'
        WHEN source IN ('EXTRAPOLATED', 'PARTIAL') THEN lower(source)
        ELSE 'miss'
    END AS status,
    count,
    coalesce(TRY_CAST(durations[part][2] AS DOUBLE), sum_us / len(types)) AS sum_us,
    shape_key, variants
FROM numbered;
