-- One row per forward pass and layer: FLOP, bytes and time of its kernels, and the roof.
--
-- FLOP of an operator run by several kernels are counted once. mapped_us, overhead_us and
-- unmapped_us sum to sum_us, exactly. The roof is the sum of the operators' roofs; unknown roofs
-- are left out, and roof_covered_pct is the share of the time that has one.
--
-- key: trace_id, device, pass_id, layer_id
--
-- trace_id          VARCHAR  trace
-- rank              INTEGER  rank in the job, NULL if unknown
-- device            INTEGER  device
-- pass_id           BIGINT   pass, from 0
-- layer_id          BIGINT   layer, from 0
-- kernel_count      BIGINT   kernels
-- sum_us            DOUBLE   sum of their durations, µs
-- wall_us           DOUBLE   from the first one's start to the last one's end, µs
-- mapped_us         DOUBLE   part in kernels whose operator is known
-- overhead_us       DOUBLE   part in communication, copies, fills and preparations
-- unmapped_us       DOUBLE   part in kernels of unknown operator
-- flop              DOUBLE   FLOP of the rank
-- bytes             DOUBLE   bytes of memory, of kernels where known
-- tflops            DOUBLE   flop over wall_us, TFLOP/s
-- mfu               DOUBLE   time that the FLOP take at their peaks, over wall_us: a fraction
-- mbu               DOUBLE   bytes over wall_us and the bandwidth, a fraction
-- roof_us           DOUBLE   minimum time of its kernels one by one, µs
-- roofline_eff      DOUBLE   roof_us over the time of the kernels that have a roof, a fraction
-- roof_covered_pct  DOUBLE   share of sum_us in kernels with a roof
-- bound             VARCHAR  compute or memory: which of both takes more of roof_us
-- over_100_causes   VARCHAR  possible reasons where mfu, mbu or roofline_eff is above 1, separated
--                            by semicolons; NULL if none is
CREATE VIEW layer_roofline AS
WITH summed AS (
    SELECT
        trace_id, rank, device, pass_id, layer_id, count(*) AS kernel_count,
        sum(dur_ns) / 1000.0 AS sum_us,
        (max(end_ns) - min(start_ns)) / 1000.0 AS wall_us,
        coalesce(sum(dur_ns) FILTER (state = 'mapped'), 0) / 1000.0 AS mapped_us,
        coalesce(sum(dur_ns) FILTER (state = 'overhead'), 0) / 1000.0 AS overhead_us,
        coalesce(sum(dur_ns) FILTER (state = 'unmapped'), 0) / 1000.0 AS unmapped_us,
        sum(counted_flop) AS flop, sum(counted_bytes) AS bytes,
        sum(counted_flop) / nullif(max(end_ns) - min(start_ns), 0) / 1e3 AS tflops,
        sum(counted_flop_us) * 1e3 / nullif(max(end_ns) - min(start_ns), 0) AS mfu,
        sum(counted_bytes) / nullif(max(end_ns) - min(start_ns), 0) / any_value(peak_gbps) AS mbu,
        sum(counted_roof_us) AS roof_us,
        sum(counted_roof_us) * 1e3 / nullif(sum(dur_ns) FILTER (has_roof), 0) AS roofline_eff,
        100.0 * coalesce(sum(dur_ns) FILTER (has_roof), 0) / nullif(sum(dur_ns), 0)
            AS roof_covered_pct,
        CASE
            WHEN sum(counted_roof_us) IS NULL THEN NULL
            WHEN sum(counted_roof_us) FILTER (bound = 'compute')
                >= coalesce(sum(counted_roof_us) FILTER (bound = 'memory'), 0) THEN 'compute'
            ELSE 'memory'
        END AS bound,
        list(DISTINCT flop_source) AS sources, bool_or(unit = 'attention') AS has_attention
    FROM _pass_kernel_roofs
    WHERE layer_id IS NOT NULL
    GROUP BY trace_id, rank, device, pass_id, layer_id
)
SELECT
    trace_id, rank, device, pass_id, layer_id, kernel_count, sum_us, wall_us, mapped_us,
    overhead_us, unmapped_us, flop, bytes, tflops, mfu, mbu, roof_us, roofline_eff,
    roof_covered_pct, bound,
    reasons_over_100(list_concat(
        _excesses(mfu, mbu, roofline_eff, sources, has_attention),
        CASE WHEN greatest(mfu, mbu) > 1 THEN ['overlap'] END
    )) AS over_100_causes
FROM summed;
