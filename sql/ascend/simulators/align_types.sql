-- One row per operation type in a simulated or a measured forward pass: its time in each.
--
-- `FROM align_types(simulated trace_id, measured trace_id, pass, window, dedup)`; pass NULL
-- compares with the whole measured trace, else window is a kind of pass_windows; dedup is
-- tracelake, compat or none. Operators of the simulator that are only views of a tensor are left
-- out.
--
-- kernel_type      VARCHAR  type of operation, or the operator if its kernel is unknown
-- op_names         VARCHAR  the simulator's operators, at most three
-- simulated_us     DOUBLE   time in the simulation, µs; 0 where it lacks the type
-- simulated_count  BIGINT   calls in the simulation
-- hit_us           DOUBLE   part of simulated_us taken from measurements, µs
-- hit_count        BIGINT   calls with a time from measurements
-- measured_us      DOUBLE   time in the measured trace, µs
-- measured_count   BIGINT   operations in the measured trace
-- error_pct        DOUBLE   simulated minus measured, of measured; NULL if that has none
-- count_error_pct  DOUBLE   the same for counts
-- measured_pct     DOUBLE   share of all measured time
-- status           VARCHAR  HIT: all calls have their time from measurements; PARTIAL: some; MISS:
--                           none; SUMMARY: not in the simulation; not modelled: only measured
CREATE MACRO align_types(of_simulated, of_measured, of_pass, of_window, of_dedup) AS TABLE
WITH modelled AS (
    SELECT
        coalesce(kernel_type, op_name) AS kernel_type,
        list_sort(list(DISTINCT regexp_replace(op_name, '^torch\.ops\.', ''))) AS op_names,
        sum(sum_us) AS sum_us, sum(count) AS calls,
        coalesce(sum(sum_us) FILTER (status = 'hit'), 0) AS hit_us,
        coalesce(sum(count) FILTER (status = 'hit'), 0) AS hits,
        sum(count) FILTER (status IS NULL) AS silent
    FROM simulated_ops
    WHERE trace_id = of_simulated AND status IS DISTINCT FROM 'zero_cost'
    GROUP BY coalesce(kernel_type, op_name)
),
observed AS (
    SELECT kernel_type, sum(dur_ns) / 1000.0 AS sum_us, count(*) AS calls
    FROM _measured_rows(of_measured, of_pass, of_window, of_dedup)
    GROUP BY kernel_type
)
SELECT
    coalesce(m.kernel_type, o.kernel_type) AS kernel_type,
    array_to_string(op_names[1:3], ', ') AS op_names,
    coalesce(m.sum_us, 0) AS simulated_us,
    CAST(coalesce(m.calls, 0) AS BIGINT) AS simulated_count,
    coalesce(hit_us, 0) AS hit_us,
    CAST(coalesce(hits, 0) AS BIGINT) AS hit_count,
    coalesce(o.sum_us, 0) AS measured_us,
    coalesce(o.calls, 0) AS measured_count,
    100 * (coalesce(m.sum_us, 0) - o.sum_us) / nullif(o.sum_us, 0) AS error_pct,
    100.0 * (coalesce(m.calls, 0) - o.calls) / nullif(o.calls, 0) AS count_error_pct,
    100 * coalesce(o.sum_us, 0) / nullif(sum(o.sum_us) OVER (), 0) AS measured_pct,
    CASE
        WHEN m.kernel_type IS NULL THEN 'not modelled'
        WHEN silent > 0 THEN 'SUMMARY'
        WHEN hits = m.calls THEN 'HIT'
        WHEN hits > 0 THEN 'PARTIAL'
        ELSE 'MISS'
    END AS status
FROM modelled AS m
FULL JOIN observed AS o ON o.kernel_type = m.kernel_type;
