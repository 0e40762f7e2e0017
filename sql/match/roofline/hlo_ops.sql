-- One row per instruction of a compiled program of XLA on a device: its time, XLA's own FLOP and
-- bytes next to those counted here, and the roofline.
--
-- XLA's figures are those of its cost analysis, which XSpace files (.xplane.pb) have; Chrome traces
-- of the same profilers have fewer of them. A GPU runs an instruction as one or more kernels: the
-- time is their sum.
--
-- key: trace_id, device, program_number, hlo_op
--
-- trace_id        VARCHAR  trace
-- rank            INTEGER  rank in the job, NULL if unknown
-- device          INTEGER  device
-- program_number  VARCHAR  XLA's number of the program, as in hlo_modules; empty if unknown
-- program         VARCHAR  program, NULL if unknown
-- hlo_op          VARCHAR  instruction
-- hlo_category    VARCHAR  XLA's category, NULL if it gives none
-- category        VARCHAR  category of its longest kernel
-- kernel_count    BIGINT   its kernels, over all runs
-- sum_us          DOUBLE   sum of their durations, µs
-- busy_pct        DOUBLE   share of the sum over all instructions of the device, %
-- xla_flop        DOUBLE   FLOP of all of them by XLA: model_flops of the profiler, else flops,
--                          which it scales down for types that the chip multiplies faster
-- xla_bytes       DOUBLE   bytes read and written by XLA: bytes_accessed of the profiler
-- xla_tflops      DOUBLE   xla_flop over sum_us, TFLOP/s
-- xla_gbps        DOUBLE   xla_bytes over sum_us, GB/s; NULL if it only begins or ends a transfer,
--                          which takes another time
-- flop            DOUBLE   FLOP that kernel_roofline counts
-- flop_source     VARCHAR  source of these, see kernel_roofline
-- bytes           DOUBLE   bytes that kernel_roofline counts
-- intensity       DOUBLE   flop per byte
-- tflops          DOUBLE   flop over sum_us, TFLOP/s
-- gbps            DOUBLE   bytes over sum_us, GB/s
-- roof_us         DOUBLE   minimum time for flop and bytes on this chip, µs
-- roofline_eff    DOUBLE   roof_us over sum_us, a fraction
-- bound           VARCHAR  compute or memory: what limits the longest of its kernels
-- tf_op           VARCHAR  operator of the framework that it is from, NULL if unknown
-- source          VARCHAR  line of source that it is from
-- long_name       VARCHAR  instruction as HLO text
CREATE VIEW hlo_ops AS
WITH described AS (
    SELECT
        trace_id, event_id AS kernel_id, name,
        json_extract_string(args, [
            '$.hlo_op', '$.hlo_category', '$.program_id', '$.hlo_module', '$.flops',
            '$.bytes_accessed', '$.tf_op', '$.source', '$.long_name', '$.model_flops',
            '$.name'
        ]) AS said
    FROM events
    WHERE
        lane = 'device' AND dur_ns IS NOT NULL
        AND (contains(args, '"hlo_category"') OR contains(args, '"hlo_op"'))
),
measured AS (
    SELECT
        roofs.trace_id, roofs.rank, roofs.device, roofs.category,
        roofs.dur_us, roofs.flop, roofs.flop_source, roofs.bytes, roofs.roof_us, roofs.bound,
        coalesce(said[1], described.name) AS hlo_op,
        said[2] AS hlo_category,
        coalesce(said[3], '') AS program_number,
        said[4] AS program,
        coalesce(nullif(TRY_CAST(said[10] AS DOUBLE), 0), TRY_CAST(said[5] AS DOUBLE)) AS xla_flop,
        TRY_CAST(said[6] AS DOUBLE) AS xla_bytes,
        framework_path(said[7], said[11]) AS tf_op,
        said[8] AS source,
        said[9] AS long_name
    FROM kernel_roofline AS roofs
    JOIN described USING (trace_id, kernel_id)
),
summed AS (
    SELECT
        trace_id, device, program_number, hlo_op,
        any_value(rank) AS rank,
        max(program) AS program,
        max(hlo_category) AS hlo_category,
        arg_max(category, (dur_us, category)) AS category,
        count(*) AS kernel_count,
        sum(dur_us) AS sum_us,
        sum(xla_flop) AS xla_flop,
        sum(xla_bytes) AS xla_bytes,
        sum(flop) AS flop,
        arg_max(flop_source, (dur_us, flop_source)) AS flop_source,
        sum(bytes) AS bytes,
        sum(roof_us) AS roof_us,
        arg_max(bound, (dur_us, bound)) AS bound,
        max(tf_op) AS tf_op,
        max(source) AS source,
        max(long_name) AS long_name
    FROM measured
    GROUP BY trace_id, device, program_number, hlo_op
)
SELECT
    summed.trace_id, summed.rank, summed.device, program_number,
    coalesce(summed.program, hlo_modules.program) AS program, hlo_op, hlo_category,
    summed.category, kernel_count, sum_us,
    100 * sum_us / sum(sum_us) OVER same_device AS busy_pct,
    xla_flop, xla_bytes,
    xla_flop / nullif(sum_us, 0) / 1e6 AS xla_tflops,
    CASE WHEN is_async IS NOT TRUE THEN xla_bytes / nullif(sum_us, 0) / 1e3 END AS xla_gbps,
    flop, flop_source, bytes,
    flop / nullif(bytes, 0) AS intensity,
    flop / nullif(sum_us, 0) / 1e6 AS tflops,
    bytes / nullif(sum_us, 0) / 1e3 AS gbps,
    roof_us,
    roof_us / nullif(sum_us, 0) AS roofline_eff,
    bound, tf_op, source, long_name
FROM summed
LEFT JOIN (
    SELECT trace_id, program_number, min(program) AS program
    FROM hlo_modules
    GROUP BY trace_id, program_number
) AS hlo_modules USING (trace_id, program_number)
LEFT JOIN hlo_categories USING (hlo_category)
WINDOW same_device AS (PARTITION BY summed.trace_id, summed.device);
