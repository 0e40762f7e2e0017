-- One row per kernel of a forward pass: its contribution to sums, in which an operator's work
-- shared by several kernels counts once.
--
-- trace_id         VARCHAR  trace
-- rank             INTEGER  rank in the job, NULL if unknown
-- device           INTEGER  device
-- pass_id          BIGINT   pass
-- layer_id         BIGINT   layer, NULL outside of layers
-- kernel_id        BIGINT   the kernel
-- start_ns         BIGINT   start
-- end_ns           BIGINT   end
-- dur_ns           BIGINT   duration, ns
-- category         VARCHAR  its category
-- state            VARCHAR  mapped, overhead or unmapped
-- unit             VARCHAR  operator of the model, or several fused, or kind of overhead
-- m                BIGINT   rows of a product
-- n                BIGINT   columns of it
-- k                BIGINT   inner dimension
-- flop_source      VARCHAR  where its FLOP come from
-- dtype            VARCHAR  type it computes in
-- peak_tflops      DOUBLE   peak in that type, TFLOP/s
-- peak_gbps        DOUBLE   bandwidth of the memory, GB/s
-- counted_flop     DOUBLE   FLOP
-- counted_bytes    DOUBLE   bytes
-- counted_flop_us  DOUBLE   time of the FLOP at the peak, µs
-- counted_roof_us  DOUBLE   roof, µs
-- has_flop         BOOLEAN  the FLOP of its operator are known
-- is_helper        BOOLEAN  another kernel does its operator's work, of known FLOP: this one only
--                           prepares it, or stores its result in another layout
-- has_bytes        BOOLEAN  the bytes of its operator are known
-- has_roof         BOOLEAN  the roof of its operator is known
-- bound            VARCHAR  compute or memory
CREATE VIEW _pass_kernel_roofs AS
WITH shared AS (
    SELECT
        r.*, r.end_ns - r.start_ns AS dur_ns,
        -- The group's figures apply if no kernel has its own.
        r.group_flop IS NOT NULL
        AND bool_and(r.flop IS NULL OR r.group_share IS NULL) OVER one_group AS is_group_known,
        r.group_share IS NULL AND r.flop IS NULL
        AND bool_or(r.group_share IS NOT NULL AND coalesce(r.flop, r.group_flop) IS NOT NULL)
            OVER one_group AS is_helper
    FROM _kernel_roofs AS r
    WHERE r.pass_id IS NOT NULL
    WINDOW one_group AS (PARTITION BY r.trace_id, r.device, r.group_id)
)
SELECT
    trace_id, rank, device, pass_id, layer_id, kernel_id, start_ns, end_ns, dur_ns, category,
    CASE WHEN map_rule IN ('overhead', 'unmapped') THEN map_rule ELSE 'mapped' END AS state,
    unit, m, n, k, flop_source, dtype, peak_tflops, peak_gbps,
    CASE WHEN NOT is_group_known THEN flop WHEN kernel_id = group_id THEN group_flop END
        AS counted_flop,
    CASE
        WHEN NOT is_group_known OR bytes IS NOT NULL THEN bytes
        WHEN kernel_id = group_id THEN group_bytes
    END AS counted_bytes,
    CASE WHEN NOT is_group_known THEN flop WHEN kernel_id = group_id THEN group_flop END
    / (peak_tflops * 1e6) AS counted_flop_us,
    CASE WHEN NOT is_group_known THEN roof_us WHEN kernel_id = group_id THEN group_roof_us END
        AS counted_roof_us,
    flop IS NOT NULL OR (is_group_known AND group_share IS NOT NULL) AS has_flop,
    is_helper,
    bytes IS NOT NULL
    OR (is_group_known AND group_share IS NOT NULL AND group_bytes IS NOT NULL) AS has_bytes,
    roof_us IS NOT NULL
    OR (is_group_known AND group_share IS NOT NULL AND group_roof_us IS NOT NULL) AS has_roof,
    CASE
        WHEN bound IS NOT NULL THEN bound
        WHEN group_flop / (peak_tflops * 1e6) >= group_bytes / (peak_gbps * 1e3) THEN 'compute'
        WHEN group_flop IS NOT NULL AND group_bytes IS NOT NULL THEN 'memory'
    END AS bound
FROM shared;
