-- One row per pass: its layers taken together, and its span beside those of the other passes. A
-- pass is complete when all its layers are there and whole, and when nothing says that it goes on.
-- Only complete passes of a series are compared; stages are kept apart. A pass is steady when its
-- span is within 5 % of the pass before it and of the median.
-- trace_id        VARCHAR  trace
-- rank            INTEGER  rank in the job, NULL when unknown
-- device          INTEGER  device
-- pass_id         BIGINT   pass, from 0 in time order
-- series          VARCHAR  model that the pass is of
-- direction       VARCHAR  forward, backward or weight gradient in training, NULL where not told
-- series_ns       BIGINT   busy time of all passes of the series on the device
-- series_nth      BIGINT   number of the pass in its series, from 0
-- stage           VARCHAR  prefill, decode or mixed, NULL when unknown
-- tokens          BIGINT   tokens of the pass, NULL when unknown
-- requests        BIGINT   requests of the pass, NULL when unknown
-- pass_source     VARCHAR  how the passes were found
-- complete        BOOLEAN  all layers are there
-- num_layers      INTEGER  layers of a complete pass
-- layer_count     BIGINT   layers seen
-- start_ns        BIGINT   start of the first layer
-- end_ns          BIGINT   end of the last layer
-- busy_ns         BIGINT   union of the kernels' intervals
-- first_layer_ns  BIGINT   wall time of layer 0
-- anchor_count    BIGINT   anchors on the device
-- remainder       BIGINT   anchors left over by whole passes
-- ordinal         BIGINT   number among passes equally complete, from 0
-- growth          DOUBLE   span over that of the pass before, NULL for the first
-- first_growth    DOUBLE   wall time of layer 0 over that in the pass before
-- deviation       DOUBLE   distance of the span from the median, relative
-- is_steady       BOOLEAN  close to the pass before and to the median
-- peers           BIGINT   passes equally complete
CREATE VIEW _pass_spans AS
WITH spans AS (
    SELECT
        trace_id, rank, device, pass_id, any_value(series) AS series,
        any_value(direction) AS direction, any_value(pass_source) AS pass_source,
        any_value(num_layers) AS num_layers, count(*) AS layer_count,
        count(*) = any_value(num_layers)
            AND bool_and(half_count = most_halves AND NOT is_cut_short) AS complete,
        min(start_ns) AS start_ns, max(end_ns) AS end_ns, min(launch_ns) AS launch_ns,
        CAST(sum(pass_busy_ns) AS BIGINT) AS busy_ns,
        min(end_ns - start_ns) FILTER (layer_id = 0) AS first_layer_ns,
        any_value(anchor_count) AS anchor_count, any_value(remainder) AS remainder
    FROM (
        SELECT *, max(half_count) OVER (PARTITION BY trace_id, rank, device, series, direction)
            AS most_halves
        FROM _layer_spans
    )
    GROUP BY trace_id, rank, device, pass_id
),
on_device AS (
    SELECT p.*, CASE WHEN p.start_ns < s.end_ns THEN s.stage END AS device_stage
    FROM spans AS p
    ASOF LEFT JOIN (SELECT * FROM _steps WHERE device IS NOT NULL AND stage IS NOT NULL) AS s
        ON s.trace_id = p.trace_id AND s.device = p.device AND s.start_ns <= p.start_ns
),
agreed AS (
    SELECT trace_id, device, bool_and(is_agreed) AS is_agreed
    FROM _ascend_anchors
    GROUP BY trace_id, device
),
staged AS (
    SELECT
        p.* EXCLUDE (device_stage, launch_ns)
            REPLACE (
                p.complete AND NOT (
                    coalesce(a.is_vague, FALSE)
                    AND p.pass_source NOT IN ('module scopes', 'annotations')
                ) AND coalesce(g.is_agreed, TRUE) AS complete
            ),
        coalesce(
            CASE WHEN p.launch_ns < s.end_ns THEN s.stage END, p.device_stage, l.stage
        ) AS stage, l.tokens, l.requests
    FROM on_device AS p
    ASOF LEFT JOIN (SELECT * FROM _steps WHERE device IS NULL AND stage IS NOT NULL) AS s
        ON s.trace_id = p.trace_id AND s.start_ns <= p.launch_ns
    LEFT JOIN _anchor_plans AS a
        ON a.trace_id = p.trace_id
        AND a.device IS NOT DISTINCT FROM p.device
        AND a.series IN ('', p.series)
    LEFT JOIN agreed AS g ON g.trace_id = p.trace_id AND g.device = p.device
    LEFT JOIN _pass_loads AS l
        ON l.trace_id = p.trace_id AND l.device = p.device AND l.pass_id = p.pass_id
),
compared AS (
    SELECT
        *, row_number() OVER in_time - 1 AS ordinal, row_number() OVER on_device - 1 AS series_nth,
        (end_ns - start_ns) / nullif(lag(end_ns - start_ns) OVER in_time, 0) AS growth,
        first_layer_ns / nullif(lag(first_layer_ns) OVER on_device, 0) AS first_growth,
        abs((end_ns - start_ns) / nullif(median(end_ns - start_ns) OVER peers, 0) - 1) AS deviation,
        count(*) OVER peers AS peers,
        CAST(sum(busy_ns) OVER (PARTITION BY trace_id, rank, device, series) AS BIGINT)
            AS series_ns
    FROM staged
    WINDOW
        peers AS (PARTITION BY trace_id, rank, device, series, direction, stage, complete),
        in_time AS (
            PARTITION BY trace_id, rank, device, series, direction, stage, complete
            ORDER BY pass_id
        ),
        on_device AS (PARTITION BY trace_id, rank, device, series, direction ORDER BY pass_id)
)
SELECT
    trace_id, rank, device, pass_id, series, direction, series_ns, series_nth, stage, tokens,
    requests, pass_source, complete, num_layers, layer_count, start_ns, end_ns, busy_ns,
    first_layer_ns, anchor_count, remainder, ordinal, growth, first_growth, deviation,
    complete AND coalesce(abs(growth - 1) <= 0.05 AND deviation <= 0.05, FALSE) AS is_steady, peers
FROM compared;
