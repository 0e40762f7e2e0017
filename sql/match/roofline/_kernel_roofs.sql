-- One row per device operation with its work beside the peaks of its chip: the input of the
-- relation _kernel_roofs.
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
        *, flop / (peak_tflops * 1e6) AS compute_us,
        -- The link to the host is the limit there, and its bandwidth is unknown.
        CASE
            WHEN coalesce(unit, '') NOT IN ('copy HtoD', 'copy DtoH')
                THEN bytes / (hbm_gbps * 1e3)
        END AS memory_us,
        CASE
            WHEN group_flop / peak_tflops IS NOT NULL AND hbm_gbps IS NOT NULL
                THEN greatest(group_flop / (peak_tflops * 1e6), group_bytes / (hbm_gbps * 1e3))
        END AS group_roof_us
    FROM priced
),
rated AS (
    SELECT
        *,
        CASE
            -- A kernel that multiplies has no roof until its FLOP, their peak and the bandwidth are
            -- known; for the others, only the bytes count.
            WHEN dtype IS NULL THEN memory_us
            WHEN compute_us IS NOT NULL AND hbm_gbps IS NOT NULL
                THEN greatest(compute_us, memory_us)
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

-- One row per device operation: what it computes and moves, compared with the peaks of its chip;
-- all of kernel_roofline except the best times of other traces.
--
-- trace_id         VARCHAR  trace
-- rank             INTEGER  rank in the job, NULL if unknown
-- device           INTEGER  device
-- pass_id          BIGINT   pass, NULL outside of passes
-- layer_id         BIGINT   layer, NULL outside of layers
-- kernel_id        BIGINT   the operation
-- start_ns         BIGINT   start, ns
-- end_ns           BIGINT   end, ns
-- display_name     VARCHAR  its name, shortened
-- category         VARCHAR  its category
-- map_rule         VARCHAR  how its operator is known, see map_rules
-- unit             VARCHAR  operator of the model, or several fused, or adapter (a product with the
--                           matrices of LoRA adapters), or kind of overhead: copies from and to the
--                           host are copy HtoD and copy DtoH
-- trace_op         VARCHAR  framework operator
-- batch            BIGINT   products side by side
-- m                BIGINT   rows of a product's result, or queries
-- n                BIGINT   columns of it
-- k                BIGINT   inner dimension
-- dur_us           DOUBLE   duration, µs
-- flop             DOUBLE   FLOP of the kernel; NULL if unknown, or known of the group alone
-- flop_source      VARCHAR  shape, annotation (pairs of the pass), profiler, template, or none
-- bytes            DOUBLE   bytes of memory it has to move
-- bytes_note       VARCHAR  why the shapes of an Ascend kernel do not give them: moved_note of
--                           ascend_operators
-- intensity        DOUBLE   FLOP per byte
-- ridge            DOUBLE   FLOP per byte above which the chip's peak is the limit
-- dtype            VARCHAR  type it computes in; NULL for what multiplies nothing
-- dtype_source     VARCHAR  source of the type: inputs, name, model, input, template, or default
-- peak_tflops      DOUBLE   dense peak of the chip in that type, TFLOP/s
-- peak_gbps        DOUBLE   bandwidth of its memory, GB/s
-- tflops           DOUBLE   flop over the duration, TFLOP/s
-- gbps             DOUBLE   bytes over the duration, GB/s
-- mfu              DOUBLE   tflops over the peak, a fraction
-- mbu              DOUBLE   gbps over the bandwidth, a fraction
-- compute_us       DOUBLE   minimum time for the FLOP, µs
-- memory_us        DOUBLE   minimum time for the bytes, µs; NULL for a copy from or to the host,
--                           whose limit is their link
-- roof_us          DOUBLE   the longer of both, µs; NULL if the peak or the bandwidth is unknown
-- gap_us           DOUBLE   duration less that, µs
-- roofline_eff     DOUBLE   roof_us over the duration, a fraction
-- bound            VARCHAR  compute or memory: which is the longer
-- group_id         BIGINT   kernel_id of the first kernel that does work of the operator
-- group_kernels    BIGINT   kernels that do
-- group_share      DOUBLE   part of their time that is this kernel's, NULL for one that does not
-- group_us         DOUBLE   sum of their durations, µs
-- group_flop       DOUBLE   FLOP of the operator
-- group_bytes      DOUBLE   bytes of the operator
-- group_tflops     DOUBLE   group_flop over group_us, TFLOP/s
-- group_mfu        DOUBLE   that over the peak, a fraction
-- group_roof_us    DOUBLE   minimum time of the operator, µs
-- flag_over_100    BOOLEAN  mfu, mbu or group_mfu is above 1
-- over_100_causes  VARCHAR  possible reasons, separated by semicolons; also where attainable_eff is
--                           above 1
-- attainable_us    DOUBLE   minimum time measured for such a product, of the table attainable, µs
-- attainable_eff   DOUBLE   that over the duration, a fraction
-- is_product       BOOLEAN  it does work of a matrix product
CREATE VIEW _kernel_roofs AS
WITH reasons AS (
    SELECT list({'cause': cause, 'applies_to': applies_to} ORDER BY cause) AS all_causes
    FROM over_100_causes
)
SELECT
    j.trace_id, j.rank, j.device, j.pass_id, j.layer_id, j.kernel_id, j.start_ns, j.end_ns,
    j.display_name, j.category, j.map_rule, j.unit, j.trace_op, j.batch, j.m, j.n, j.k, j.dur_us,
    j.flop, j.flop_source, j.bytes, CASE WHEN j.bytes IS NULL THEN j.bytes_note END AS bytes_note,
    j.flop / nullif(j.bytes, 0) AS intensity,
    j.peak_tflops * 1e3 / j.hbm_gbps AS ridge, j.dtype, j.dtype_source, j.peak_tflops,
    j.hbm_gbps AS peak_gbps, j.flop / nullif(j.dur_us, 0) / 1e6 AS tflops,
    j.bytes / nullif(j.dur_us, 0) / 1e3 AS gbps, j.mfu, j.mbu, j.compute_us, j.memory_us,
    j.roof_us, j.dur_us - j.roof_us AS gap_us, j.roof_us / nullif(j.dur_us, 0) AS roofline_eff,
    CASE
        WHEN j.roof_us IS NULL THEN NULL
        WHEN j.memory_us IS NULL OR j.compute_us >= j.memory_us THEN 'compute'
        ELSE 'memory'
    END AS bound,
    j.group_id, j.workers AS group_kernels,
    CASE WHEN j.is_worker THEN j.dur_us / nullif(j.group_us, 0) END AS group_share,
    j.group_us, CASE WHEN j.is_worker THEN j.group_flop END AS group_flop,
    CASE WHEN j.is_worker THEN j.group_bytes END AS group_bytes,
    j.group_tflops, j.group_tflops / j.peak_tflops AS group_mfu,
    CASE WHEN j.is_worker THEN j.group_roof_us END AS group_roof_us,
    j.is_too_quick OR j.is_too_wide AS flag_over_100,
    CASE
        WHEN j.is_too_quick OR j.is_too_wide OR a.latency_us > j.dur_us
            THEN array_to_string(
                list_transform(
                    list_filter(
                        reasons.all_causes,
                        LAMBDA c: (
                            j.is_too_quick AND c.applies_to IN ('any', j.flop_source)
                        )
                        OR (
                            -- The keys of a pass's annotation are read, as its pairs are computed.
                            j.is_too_wide AND (
                                c.applies_to = 'memory'
                                OR (c.applies_to = 'annotation' AND j.flop_source = 'annotation')
                            )
                        )
                        OR (
                            (j.is_too_quick OR j.is_too_wide) AND (
                                c.applies_to = 'always'
                                OR (c.applies_to = 'attention' AND j.unit = 'attention')
                            )
                        )
                        OR (
                            NOT j.is_too_quick AND NOT j.is_too_wide
                            AND c.applies_to = 'attainable'
                        )
                    ),
                    LAMBDA c: c.cause
                ), ';'
            )
    END AS over_100_causes,
    a.latency_us AS attainable_us, a.latency_us / nullif(j.dur_us, 0) AS attainable_eff,
    j.family = 'product' AND j.is_worker AS is_product
FROM _kernel_rates AS j
CROSS JOIN reasons
LEFT JOIN attainable AS a
    ON a.hardware = j.hardware AND a.dtype = j.dtype AND a.batch = j.batch AND a.m = j.m
    AND a.n = j.n AND a.k = j.k AND j.family = 'product';
