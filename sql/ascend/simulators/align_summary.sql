-- One row: how well a simulated forward pass represents a measured one. M6 is the time that the
-- simulator takes from measurements, over the measured time; both are sums, overlap is ignored.
--
-- `FROM align_summary(simulated trace_id, measured trace_id, pass, window, dedup, sources)`, as
-- align_types; sources lists the sources that count as measurements, usually ['MEASURED',
-- 'INTERPOLATED']. M6 = coverage x calibration + surplus, exactly: 0.8 may be a perfect simulator
-- of four fifths of the time, or a poor one of all of it. A simulator's summary of operators does
-- not show which times are from measurements: all that depends on it is NULL.
--
-- m6                DOUBLE  hit_us over measured_us; NULL if nothing was measured
-- coverage          DOUBLE  share of the measured time in types with a hit; NULL if nothing was
--                           measured
-- calibration       DOUBLE  their simulated time over their measured time; NULL without coverage
-- surplus           DOUBLE  time of hits of types that were not measured, over the measured time;
--                           NULL if nothing was measured
-- hit_us            DOUBLE  simulated time from measurements, µs
-- simulated_us      DOUBLE  all simulated time but that of views of tensors, µs
-- measured_us       DOUBLE  compute_us + communication_us
-- compute_us        DOUBLE  measured time of operations other than collectives, µs
-- communication_us  DOUBLE  measured time of collectives, double rows counted by dedup, µs
CREATE MACRO align_summary(
    of_simulated, of_measured, of_pass, of_window, of_dedup, of_sources
) AS TABLE
WITH modelled AS (
    SELECT
        kernel_type, sum(sum_us) AS sum_us, bool_or(status IS NULL) AS is_silent,
        coalesce(
            sum(sum_us) FILTER (mapped AND list_contains(of_sources, source) AND sum_us > 0), 0
        ) AS hit_us
    FROM simulated_ops
    WHERE trace_id = of_simulated AND status IS DISTINCT FROM 'zero_cost'
    GROUP BY kernel_type
),
observed AS (
    SELECT
        kernel_type, sum(dur_ns) AS total_ns,
        coalesce(sum(dur_ns) FILTER (NOT is_comm), 0) AS compute_ns
    FROM _measured_rows(of_measured, of_pass, of_window, of_dedup)
    GROUP BY kernel_type
),
sums AS (
    SELECT
        CASE WHEN bool_or(m.is_silent) THEN NULL ELSE coalesce(sum(m.hit_us), 0) END AS hit_us,
        coalesce(sum(m.sum_us), 0) AS simulated_us,
        coalesce(sum(o.total_ns), 0) / 1000.0 AS measured_us,
        coalesce(sum(o.compute_ns), 0) / 1000.0 AS compute_us,
        coalesce(sum(o.total_ns - o.compute_ns), 0) / 1000.0 AS communication_us,
        coalesce(sum(o.total_ns) FILTER (m.hit_us > 0), 0) / 1000.0 AS covered_us,
        coalesce(sum(m.hit_us) FILTER (o.total_ns > 0), 0) AS covered_hit_us
    FROM modelled AS m
    FULL JOIN observed AS o ON o.kernel_type = m.kernel_type
)
SELECT
    hit_us / nullif(measured_us, 0) AS m6,
    CASE WHEN hit_us IS NOT NULL THEN covered_us / nullif(measured_us, 0) END AS coverage,
    covered_hit_us / nullif(covered_us, 0) AS calibration,
    (hit_us - covered_hit_us) / nullif(measured_us, 0) AS surplus,
    hit_us, simulated_us, measured_us, compute_us, communication_us
FROM sums;
