-- One row per pass as the reference analyser counts them, errors included.
-- Provided for comparison with passes, which is the relation to use.
--
-- `FROM compat_passes(trace_id, anchor, layers, blocks per layer)`; NULL arguments default to the
-- trace's settings. The first anchor of the file opens pass 0; the last pass of a file is lost
-- unless one more anchor follows it.
--
-- trace_id        VARCHAR  trace
-- pass_id         BIGINT   pass, from 0
-- start_ns        BIGINT   start of its first anchor
-- end_ns          BIGINT   end of the kernel that starts last before the next pass's first anchor
-- dur_ns          BIGINT   from that start to that end
-- avg_layer_us    DOUBLE   that duration per layer
-- first_layer_ns  BIGINT   wall time of layer 0
-- note            VARCHAR  cold-start, steady-state, growing with the factor; NULL: none of these
-- chosen          BOOLEAN  the pass it selects: the first after pass 0 whose layer 0 takes 8 ms
CREATE MACRO compat_passes(of_trace, of_anchor, of_layers, of_blocks) AS TABLE
WITH spans AS (
    SELECT
        trace_id, pass_id, min(start_ns) AS start_ns, arg_max(end_ns, layer_id) AS end_ns,
        count(*) AS layer_count, arg_min(wall_ns, layer_id) AS first_layer_ns
    FROM compat_layers(of_trace, of_anchor, of_layers, of_blocks)
    GROUP BY trace_id, pass_id
),
compared AS (
    SELECT
        trace_id, pass_id, start_ns, end_ns, layer_count, first_layer_ns,
        first_layer_ns / nullif(lag(first_layer_ns) OVER in_time, 0) AS growth,
        min(pass_id) FILTER (pass_id > 0 AND first_layer_ns > 8000000)
            OVER (PARTITION BY trace_id) AS chosen_id
    FROM spans
    WINDOW in_time AS (PARTITION BY trace_id ORDER BY pass_id)
)
SELECT
    trace_id, pass_id, start_ns, end_ns, end_ns - start_ns AS dur_ns,
    (end_ns - start_ns) / 1000.0 / layer_count AS avg_layer_us, first_layer_ns,
    CASE
        WHEN pass_id = 0 THEN 'cold-start'
        WHEN abs(growth - 1) < 0.05 AND pass_id > 2 THEN 'steady-state'
        WHEN growth > 1.5 THEN format('growing {:.1f}x', growth)
    END AS note,
    coalesce(pass_id = chosen_id, FALSE) AS chosen
FROM compared;
