-- One row per device and kernel name of two layers of a trace: what each of them runs, and how they
-- differ. Names are compared in full.
--
-- `FROM layer_diff(trace_id, pass, layer, other pass, other layer)`; the second layer minus the
-- first is the difference.
--
-- rank          INTEGER  rank in the job, NULL if unknown
-- device        INTEGER  device the layers ran on
-- side          VARCHAR  a when only the first layer runs the kernel, b only the second, both
-- name          VARCHAR  full name
-- display_name  VARCHAR  its name, shortened for people
-- category      VARCHAR  its category
-- a_count       BIGINT   times the first layer runs it
-- b_count       BIGINT   times the second layer runs it
-- diff_count    BIGINT   second minus first
-- a_us          DOUBLE   sum of its durations in the first layer
-- b_us          DOUBLE   sum of its durations in the second layer
-- diff_us       DOUBLE   second minus first
CREATE MACRO layer_diff(of_trace, a_pass, a_layer, b_pass, b_layer) AS TABLE
WITH chosen AS (
    SELECT
        rank, device, name, display_name, category, end_ns - start_ns AS dur_ns,
        pass_id = a_pass AND layer_id = a_layer AS is_a,
        pass_id = b_pass AND layer_id = b_layer AS is_b
    FROM layer_kernels
    WHERE
        trace_id = of_trace AND (
            (pass_id = a_pass AND layer_id = a_layer) OR (pass_id = b_pass AND layer_id = b_layer)
        )
),
summed AS (
    SELECT
        rank, device, name, any_value(display_name) AS display_name,
        max_by(category, row(dur_ns, category)) AS category,
        count(*) FILTER (is_a) AS a_count, count(*) FILTER (is_b) AS b_count,
        coalesce(sum(dur_ns) FILTER (is_a), 0) / 1000.0 AS a_us,
        coalesce(sum(dur_ns) FILTER (is_b), 0) / 1000.0 AS b_us
    FROM chosen
    GROUP BY rank, device, name
)
SELECT
    rank, device, CASE WHEN b_count = 0 THEN 'a' WHEN a_count = 0 THEN 'b' ELSE 'both' END AS side,
    name, display_name, category, a_count, b_count, b_count - a_count AS diff_count,
    a_us, b_us, round(b_us - a_us, 3) AS diff_us
FROM summed;
