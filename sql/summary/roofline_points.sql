-- One row per device, kernel and size of its work: how close its calls come to the roofline.
--
-- key: trace_id, device, display_name, m?, n?, k?, batch?, bound
--
-- trace_id        VARCHAR  trace
-- device          INTEGER  device
-- display_name    VARCHAR  kernel
-- category        VARCHAR  its category
-- category_group  VARCHAR  its group, from category_groups
-- batch           BIGINT   products of one call, NULL if it is not a product
-- m               BIGINT   rows of a product
-- n               BIGINT   its columns
-- k               BIGINT   its inner dimension
-- bound           VARCHAR  what bounds it, see kernel_roofline
-- calls           BIGINT   calls whose work is known
-- sum_us          DOUBLE   their time, µs
-- intensity       DOUBLE   FLOP per byte of all of them
-- tflops          DOUBLE   rate over their time, TFLOP/s
-- peak_tflops     DOUBLE   peak of the chip for their type, TFLOP/s
-- peak_gbps       DOUBLE   bandwidth of its memory, GB/s
-- roof_pct        DOUBLE   time at the roofline over their time
-- attainable_pct  DOUBLE   best time measured anywhere over their time; NULL if there is none
CREATE VIEW roofline_points AS
SELECT
    k.trace_id, k.device, k.display_name, any_value(k.category) AS category,
    coalesce(any_value(g.category_group), 'other') AS category_group, k.batch, k.m, k.n, k.k,
    k.bound, count(*) AS calls, sum(dur_us) AS sum_us, sum(flop) / sum(bytes) AS intensity,
    sum(flop) / sum(dur_us) / 1e6 AS tflops, max(peak_tflops) AS peak_tflops,
    max(peak_gbps) AS peak_gbps, 100 * sum(roof_us) / sum(dur_us) AS roof_pct,
    100 * sum(attainable_us) / sum(dur_us) AS attainable_pct
FROM kernel_roofline AS k
LEFT JOIN category_groups AS g ON g.category = k.category
WHERE k.flop > 0 AND k.bytes > 0 AND k.dur_us > 0 AND k.bound IS NOT NULL
GROUP BY k.trace_id, k.device, k.display_name, k.batch, k.m, k.n, k.k, k.bound;
