-- One row per forward pass and operator that its kernels run: the sum of its rows in
-- kernel_roofline. If a kernel's launch is known, but not its operator in the model, its category
-- takes the operator's place.
--
-- key: trace_id, device, pass_id, fate, unit
--
-- trace_id       VARCHAR  trace
-- rank           INTEGER  rank in the job, NULL if unknown
-- device         INTEGER  device
-- pass_id        BIGINT   pass, from 0
-- fate           VARCHAR  assigned, overhead or unmapped
-- unit           VARCHAR  operator, or several fused; kind of overhead; else category of kernels
-- map_rules      VARCHAR  how its operator was found, the rules separated by commas
-- kernel_count   BIGINT   kernels
-- sum_us         DOUBLE   sum of their durations, µs
-- pass_pct       DOUBLE   share of the durations of all kernels of the pass
-- flop           DOUBLE   FLOP of the rank; NULL if unknown
-- dtypes         VARCHAR  types it computes in
-- tflops         DOUBLE   flop over the time of the kernels that have them, TFLOP/s
-- mfu_pct        DOUBLE   time of the FLOP at their peaks over that time
-- bytes          DOUBLE   bytes of memory, of kernels where known
-- mbu_pct        DOUBLE   time of the bytes at the memory's bandwidth over that of these kernels
-- flag_over_100  BOOLEAN  one of its kernels, or the operator, exceeds its peak
-- over_100_causes VARCHAR possible reasons, separated by semicolons
CREATE VIEW timing_units AS
WITH named AS (
    SELECT
        trace_id, rank, device, pass_id, kernel_id, group_id, map_rule, dur_us, group_us,
        group_flop, group_bytes, peak_tflops, peak_gbps, dtype, flag_over_100,
        over_100_causes,
        CASE
            WHEN map_rule = 'overhead' THEN 'overhead'
            WHEN map_rule = 'unmapped' THEN 'unmapped'
            ELSE 'assigned'
        END AS fate,
        coalesce(unit, category) AS unit
    FROM _kernel_roofs
    WHERE pass_id IS NOT NULL
),
summed AS (
    SELECT
        trace_id, rank, device, pass_id, fate, unit,
        string_agg(DISTINCT map_rule, ', ' ORDER BY map_rule) AS map_rules,
        count(*) AS kernel_count, sum(dur_us) AS sum_us,
        string_agg(DISTINCT dtype, ', ' ORDER BY dtype) AS dtypes,
        -- FLOP and bytes of an operator are on the first of its kernels.
        sum(group_flop) FILTER (kernel_id = group_id) AS flop,
        sum(group_us) FILTER (kernel_id = group_id AND group_flop IS NOT NULL) AS known_us,
        sum(group_flop / peak_tflops / 1e6) FILTER (kernel_id = group_id) AS compute_us,
        sum(group_us) FILTER (kernel_id = group_id AND group_flop / peak_tflops IS NOT NULL)
            AS priced_us,
        sum(group_bytes) FILTER (kernel_id = group_id) AS bytes,
        sum(group_bytes / peak_gbps / 1e3) FILTER (kernel_id = group_id) AS memory_us,
        sum(group_us) FILTER (kernel_id = group_id AND group_bytes / peak_gbps IS NOT NULL)
            AS moved_us,
        coalesce(bool_or(flag_over_100), FALSE) AS is_flagged,
        max(over_100_causes) FILTER (flag_over_100) AS causes
    FROM named
    GROUP BY trace_id, rank, device, pass_id, fate, unit
)
SELECT
    trace_id, rank, device, pass_id, fate, unit, map_rules, kernel_count, sum_us,
    100 * sum_us / nullif(sum(sum_us) OVER of_pass, 0) AS pass_pct,
    flop, dtypes, flop / nullif(known_us, 0) / 1e6 AS tflops,
    100 * nullif(compute_us, 0) / nullif(priced_us, 0) AS mfu_pct, bytes,
    100 * memory_us / nullif(moved_us, 0) AS mbu_pct,
    is_flagged OR coalesce(compute_us > priced_us, FALSE) OR coalesce(memory_us > moved_us, FALSE)
        AS flag_over_100,
    coalesce(causes, reasons_over_100(list_concat(
        CASE WHEN compute_us > priced_us THEN ['always', 'any'] END,
        CASE WHEN memory_us > moved_us THEN ['always', 'memory'] END
    ))) AS over_100_causes
FROM summed
WINDOW of_pass AS (PARTITION BY trace_id, device, pass_id);
