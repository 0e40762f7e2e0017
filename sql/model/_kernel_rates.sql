-- One row per device operation with its work beside the peaks of its chip: what the relation
-- kernel_roofline is made of.
--
-- trace_id      VARCHAR    trace
-- rank          INTEGER    rank in the job, NULL when unknown
-- device        INTEGER    device
-- kernel_id     BIGINT     the operation
-- display_name  VARCHAR    its name, shortened
-- category      VARCHAR    its category
-- start_ns      BIGINT     start
-- end_ns        BIGINT     end
-- dur_ns        BIGINT     duration, ns
-- pass_id       BIGINT     pass
-- layer_id      BIGINT     layer
-- layer_kind    VARCHAR    kind of layer by the model; ends outside of layers
-- map_rule      VARCHAR    rule of map_rules
-- trace_op      VARCHAR    framework operator
-- unit          VARCHAR    operator of the model, or several fused, or kind of overhead
-- ops           VARCHAR[]  operators of the template; NULL without a template
-- op_flops      DOUBLE[]   FLOP of these by the template
-- part          BIGINT     part of the operator that the kernel runs
-- parts         BIGINT     parts that it runs in
-- family        VARCHAR    family of the operator's rule
-- batch         BIGINT     products side by side
-- m             BIGINT     rows
-- n             BIGINT     columns
-- k             BIGINT     inner dimension
-- flop          DOUBLE     FLOP of the kernel
-- bytes         DOUBLE     bytes it moves
-- bytes_note    VARCHAR    why its shapes do not tell them, see ascend_operators
-- flops_source  VARCHAR    shape, annotation, profiler, template or none
-- dtype         VARCHAR    type it computes in
-- dtype_source  VARCHAR    inputs, name, model, input, template or default
-- is_worker     BOOLEAN    does work of its operator
-- group_id      BIGINT     kernel_id of the first kernel that does work of the operator
-- workers       BIGINT     kernels that do
-- group_ns      BIGINT     sum of their durations, ns
-- group_flop    DOUBLE     FLOP of the operator
-- group_bytes   DOUBLE     bytes of the operator
-- dur_us        DOUBLE     duration, µs
-- group_us      DOUBLE     group_ns in µs
-- hardware      VARCHAR    chip
-- peak_tflops   DOUBLE     its peak in the type, TFLOP/s
-- hbm_gbps      DOUBLE     bandwidth of its memory, GB/s
-- compute_us    DOUBLE     least time for the FLOP, µs
-- memory_us     DOUBLE     least time for the bytes, µs
-- group_roof_us DOUBLE     least time for the operator, µs
-- roof_us       DOUBLE     least time, µs
-- mfu           DOUBLE     FLOP over the duration and the peak, a fraction
-- mbu           DOUBLE     bytes over the duration and the bandwidth, a fraction
-- group_tflops  DOUBLE     FLOP of the operator over the time of its kernels, TFLOP/s
-- is_too_quick  BOOLEAN    more FLOP than the peak allows
-- is_too_wide   BOOLEAN    more bytes than the bandwidth allows
CREATE VIEW _kernel_rates AS
WITH priced AS (
    SELECT
        m.*, m.dur_ns / 1000.0 AS dur_us, m.group_ns / 1000.0 AS group_us, t.hardware,
        p.peak_tflops, h.hbm_gbps
    FROM _kernel_maps AS m
    JOIN traces AS t ON t.trace_id = m.trace_id
    LEFT JOIN hardware AS h ON h.hardware = t.hardware
    LEFT JOIN hardware_peaks AS p ON p.hardware = t.hardware AND p.dtype = m.dtype
),
timed AS (
    SELECT
        *, flop / (peak_tflops * 1e6) AS compute_us, bytes / (hbm_gbps * 1e3) AS memory_us,
        CASE
            WHEN group_flop / peak_tflops IS NOT NULL
                THEN greatest(group_flop / (peak_tflops * 1e6), group_bytes / (hbm_gbps * 1e3))
        END AS group_roof_us
    FROM priced
),
rated AS (
    SELECT
        *,
        CASE
            -- What multiplies has no roof until its FLOP and their peak are known; for the rest the
            -- bytes are all there is to do.
            WHEN dtype IS NULL THEN memory_us
            WHEN compute_us IS NOT NULL THEN greatest(compute_us, memory_us)
        END AS roof_us,
        flop / nullif(dur_us, 0) / 1e6 / peak_tflops AS mfu,
        bytes / nullif(dur_us, 0) / 1e3 / hbm_gbps AS mbu,
        CASE WHEN is_worker THEN group_flop / nullif(group_us, 0) / 1e6 END AS group_tflops
    FROM timed
)
SELECT
    *,
    coalesce(mfu > 1 OR group_tflops > peak_tflops, FALSE) AS is_too_quick,
    coalesce(mbu > 1, FALSE) AS is_too_wide
FROM rated;
