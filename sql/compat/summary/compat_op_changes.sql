-- One row per operation in the lists of hottest operations of two traces, as the reference's
-- profile summary compares them: by name, over the truncated lists, operations missing from a list
-- counting as 0. Provided for comparison with op_changes, which is the relation to use.
--
-- `FROM compat_op_changes(before, after, limit)` with the ids of two traces; its lists have 25
-- rows.
--
-- name       VARCHAR  name
-- before_us  DOUBLE   own time in the first trace, µs
-- after_us   DOUBLE   own time in the second trace, µs
-- change_us  DOUBLE   after minus before, µs
CREATE MACRO compat_op_changes(of_before, of_after, of_limit) AS TABLE
SELECT
    name, coalesce(sum(exclusive_us) FILTER (trace_id = of_before), 0) AS before_us,
    coalesce(sum(exclusive_us) FILTER (trace_id = of_after), 0) AS after_us,
    coalesce(sum(exclusive_us) FILTER (trace_id = of_after), 0)
        - coalesce(sum(exclusive_us) FILTER (trace_id = of_before), 0) AS change_us
FROM compat_ops
WHERE trace_id IN (of_before, of_after) AND place <= of_limit
GROUP BY name;
