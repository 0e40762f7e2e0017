-- One row per line of a profiling database: shapes of a type of operation and the time they took.
--
-- If several columns have a time, that of a micro-benchmark is used, else the mean of a profile.
-- The phase of an attention is by its tokens per request, up to 8 for a decode with drafts.
--
-- key: trace_id, event_id
--
-- trace_id       VARCHAR  trace: the file
-- event_id       BIGINT   line of the file, from 0
-- kernel_type    VARCHAR  type of operation: the file's name
-- op_state       VARCHAR  dynamic or static shapes
-- core           VARCHAR  kind of core
-- shape_key      VARCHAR  shapes of the inputs, an empty one for a scalar or no tensor
-- output_key     VARCHAR  shapes of the outputs
-- input_types    VARCHAR  types of the inputs, with semicolons between them
-- input_formats  VARCHAR  formats of the inputs
-- slots          BIGINT   inputs
-- mean_us        DOUBLE   mean duration, µs
-- median_us      DOUBLE   median, µs
-- std_us         DOUBLE   standard deviation of the population, µs
-- mean_seq_len   BIGINT   mean length of an attention's requests, from the file
-- tokens         BIGINT   tokens of an attention
-- requests       BIGINT   requests of an attention
-- phase          VARCHAR  prefill, decode or unknown, of an attention
CREATE VIEW profiled_shapes AS
WITH typed AS (
    SELECT
        trace_id, event_id,
        max(value) FILTER (header = 'kerneltype') AS kernel_type,
        max(value) FILTER (header = 'opstate') AS op_state,
        max(value) FILTER (header = 'acceleratorcore') AS core,
        max(value) FILTER (header = 'inputshapes') AS shape_key,
        max(value) FILTER (header = 'outputshapes') AS output_key,
        max(value) FILTER (header = 'inputdatatypes') AS input_types,
        max(value) FILTER (header = 'inputformats') AS input_formats,
        coalesce(
            TRY_CAST(max(value) FILTER (header = 'microbenchdurationus') AS DOUBLE),
            TRY_CAST(max(value) FILTER (header = 'averagedurationus') AS DOUBLE),
            TRY_CAST(max(value) FILTER (header = 'profilingaveragedurationus') AS DOUBLE),
            TRY_CAST(max(value) FILTER (header = 'durationus') AS DOUBLE)
        ) AS mean_us,
        TRY_CAST(
            coalesce(
                max(value) FILTER (header = 'mediandurationus'),
                max(value) FILTER (header = 'profilingmediandurationus')
            ) AS DOUBLE
        ) AS median_us,
        TRY_CAST(
            coalesce(
                max(value) FILTER (header = 'stddurationus'),
                max(value) FILTER (header = 'profilingstddurationus')
            ) AS DOUBLE
        ) AS std_us,
        TRY_CAST(max(value) FILTER (header IN ('avgseqlen', 'runtimeavgseqlen')) AS BIGINT)
            AS mean_seq_len
    FROM _companion_cells
    WHERE kind = 'profiled_shape'
    GROUP BY trace_id, event_id
),
attentions AS (
    SELECT kernel_type, min_by(length_slot, priority) AS length_slot
    FROM (SELECT DISTINCT kernel_type FROM typed)
    JOIN work_rules ON regexp_matches(lower(kernel_type), pattern)
    GROUP BY kernel_type
    HAVING min_by(rule, priority) = 'paged_attention'
),
split AS (
    SELECT
        trace_id, event_id, typed.kernel_type, op_state, core, shape_key, output_key, input_types,
        input_formats, mean_us, median_us, std_us, mean_seq_len, length_slot,
        len(_tokens(input_types)) AS slots,
        list_transform(
            string_split(shape_key, ';'), lambda slot: string_split(slot, ',')
        ) AS dims
    FROM typed
    LEFT JOIN attentions ON attentions.kernel_type = typed.kernel_type
),
counted AS (
    SELECT
        trace_id, event_id, kernel_type, op_state, core, shape_key, output_key, input_types,
        input_formats, slots, mean_us, median_us, std_us, mean_seq_len,
        length_slot IS NOT NULL AS is_attention,
        CASE WHEN length_slot IS NOT NULL THEN TRY_CAST(dims[1][1] AS BIGINT) END AS tokens,
        coalesce(
            TRY_CAST(dims[length_slot + 1][1] AS BIGINT), TRY_CAST(dims[length_slot][1] AS BIGINT)
        ) AS requests,
        dims[2][1] = dims[1][1] AND len(dims[2]) < 4 AS own_keys
    FROM split
)
SELECT
    trace_id, event_id, kernel_type, op_state, core, shape_key, output_key, input_types,
    input_formats, slots, mean_us, median_us, std_us, mean_seq_len, tokens, requests,
    CASE
        WHEN NOT is_attention OR tokens IS NULL THEN NULL
        WHEN tokens <= 8 * requests THEN 'decode'
        WHEN requests IS NOT NULL OR own_keys OR tokens >= 100 THEN 'prefill'
        WHEN tokens <= 50 THEN 'decode'
        ELSE 'unknown'
    END AS phase
FROM counted;
