-- One row per group of operators that measured kernels run together: an operator with its own
-- kernels is a group by itself. FLOP of a group count once, and the times of its kernels are
-- summed.
--
-- Shares are never capped at 100 %: above it, a dimension, a degree of parallelism or a type
-- differs from what was run, kernels of the group are missing, or work was skipped; see
-- over_100_causes.
--
-- key: request, layer_kind, group_id
--
-- request       VARCHAR    scenario
-- layer_kind    VARCHAR    kind of layer measured
-- group_id      INTEGER    the group, numbered as its first operator
-- operators     VARCHAR[]  its operators in order
-- kernel_count  BIGINT     its kernels
-- measured_us   DOUBLE     sum of their durations, µs
-- flop_rank     DOUBLE     FLOP of one rank in one layer
-- bytes         DOUBLE     bytes that a rank reads and writes, including those of operators that
--                          fusion would hide if the kernels do nothing else
-- dtype         VARCHAR    type that all its kernels multiply in; NULL if it is unknown or differs:
--                          then each operator's own type is used
-- peak_dtype    VARCHAR    type whose peak is used: the kernels', else the operators'; mixed if
--                          those differ; NULL if nothing is multiplied
-- peak_tflops   DOUBLE     peak in those types, weighted by FLOP, TFLOP/s
-- compute_us    DOUBLE     time at that peak, µs; NULL if it is unknown
-- memory_us     DOUBLE     time of the bytes at the memory's bandwidth, µs; NULL if it is unknown
-- tflops        DOUBLE     flop_rank over measured_us, TFLOP/s
-- mfu_pct       DOUBLE     compute_us over measured_us; NULL if the peak is unknown, or nothing
--                          is multiplied
-- mbu_pct       DOUBLE     memory_us over measured_us
-- roofline_pct  DOUBLE     the longer of compute_us and memory_us over measured_us; NULL if one is
--                          unknown
-- flag_over_100 BOOLEAN    one of these exceeds 100
-- over_100_causes VARCHAR  possible reasons, separated by semicolons
CREATE VIEW timing_groups AS
WITH layer_operators AS (
    SELECT
        request, group_id, op_seq, op, layer_kind, flop_rank, dtype, peak_tflops, hardware,
        hbm_gbps,
        -- Operators that fusion hides have their own kernels if these do nothing else.
        CASE
            WHEN count(*) OVER made = count(alone_bytes) OVER made THEN alone_bytes ELSE bytes
        END AS bytes
    FROM timing_template
    JOIN _timing_groups USING (request, op_seq)
    WHERE is_measured
    WINDOW made AS (PARTITION BY request, group_id)
),
group_kernels AS (
    SELECT DISTINCT request, group_id, position, dur_us, dtype
    FROM _timing_links
    JOIN _timing_groups USING (request, op_seq)
    JOIN _timing_rows USING (request, position)
),
measured AS (
    SELECT
        request, group_id, count(*) AS kernel_count, sum(dur_us) AS measured_us,
        CASE WHEN count(DISTINCT dtype) = 1 THEN any_value(dtype) END AS dtype
    FROM group_kernels
    GROUP BY request, group_id
),
summed AS (
    SELECT
        request, any_value(layer_kind) AS layer_kind, group_id,
        list(op ORDER BY op_seq) AS operators, any_value(kernel_count) AS kernel_count,
        any_value(measured_us) AS measured_us, sum(flop_rank) AS flop_rank, sum(bytes) AS bytes,
        any_value(measured.dtype) AS dtype,
        CASE
            WHEN sum(flop_rank) = 0 THEN NULL
            WHEN any_value(measured.dtype) IS NOT NULL THEN any_value(measured.dtype)
            WHEN count(DISTINCT layer_operators.dtype) FILTER (flop_rank > 0) = 1
                THEN any_value(layer_operators.dtype) FILTER (flop_rank > 0)
            ELSE 'mixed'
        END AS peak_dtype,
        CASE
            WHEN sum(flop_rank) = 0 THEN 0
            WHEN any_value(measured.dtype) IS NOT NULL
                THEN sum(flop_rank) / any_value(peaks.peak_tflops) / 1e6
            WHEN count(*) FILTER (flop_rank > 0 AND layer_operators.peak_tflops IS NULL) = 0
                THEN sum(
                    CASE WHEN flop_rank > 0 THEN flop_rank / layer_operators.peak_tflops ELSE 0 END
                ) / 1e6
        END AS compute_us,
        sum(bytes) / any_value(hbm_gbps) / 1e3 AS memory_us
    FROM layer_operators
    JOIN measured USING (request, group_id)
    LEFT JOIN hardware_peaks AS peaks
        ON peaks.hardware = layer_operators.hardware AND peaks.dtype = measured.dtype
    GROUP BY request, group_id
),
related AS (
    SELECT
        request, layer_kind, group_id, operators, kernel_count, measured_us, flop_rank, bytes,
        dtype, peak_dtype, nullif(flop_rank, 0) / nullif(compute_us, 0) / 1e6 AS peak_tflops,
        compute_us, memory_us,
        flop_rank / nullif(measured_us, 0) / 1e6 AS tflops,
        100 * nullif(compute_us, 0) / nullif(measured_us, 0) AS mfu_pct,
        100 * nullif(memory_us, 0) / nullif(measured_us, 0) AS mbu_pct
    FROM summed
)
SELECT
    request, layer_kind, group_id, operators, kernel_count, measured_us, flop_rank, bytes, dtype,
    peak_dtype, peak_tflops, compute_us, memory_us, tflops, mfu_pct, mbu_pct,
    CASE WHEN compute_us + memory_us IS NOT NULL THEN greatest(mfu_pct, mbu_pct) END
        AS roofline_pct,
    coalesce(greatest(mfu_pct, mbu_pct) > 100, FALSE) AS flag_over_100,
    reasons_over_100(list_concat(
        CASE WHEN greatest(mfu_pct, mbu_pct) > 100 THEN ['always', 'template', 'shape'] END,
        CASE WHEN mfu_pct > 100 THEN ['any'] END,
        CASE WHEN mbu_pct > 100 THEN ['memory'] END,
        CASE
            WHEN greatest(mfu_pct, mbu_pct) > 100
                AND contains(array_to_string(operators, ' '), 'attn_')
                THEN ['attention']
        END
    )) AS over_100_causes
FROM related;
