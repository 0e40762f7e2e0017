-- One row per pass: its layers taken together, and its span beside those of the other passes. A
-- pass is complete when all its layers are present and whole, and nothing shows that it continues.
-- Only complete passes of a series are compared; stages are not mixed. A pass is steady when its
-- span is within 5 % of the pass before it and of the median.
CREATE VIEW _pass_spans AS
WITH spans AS (
    SELECT
        trace_id, rank, device, pass_id, any_value(series) AS series,
        any_value(direction) AS direction, any_value(pass_source) AS pass_source,
        any_value(num_layers) AS num_layers, count(*) AS layer_count,
        count(*) = any_value(num_layers)
            AND bool_and(half_count = most_halves AND NOT is_cut_short) AS complete,
        min(start_ns) AS start_ns, max(end_ns) AS end_ns, min(issued_ns) AS issued_ns,
        CAST(sum(pass_busy_ns) AS BIGINT) AS busy_ns,
        min(end_ns - start_ns) FILTER (layer_id = 0) AS first_layer_ns,
        any_value(anchor_count) AS anchor_count, any_value(remainder) AS remainder
    FROM (
        SELECT *, max(half_count) OVER (PARTITION BY trace_id, device, series, direction)
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
        p.* EXCLUDE (device_stage, issued_ns)
            REPLACE (
                p.complete AND NOT (
                    coalesce(a.is_vague, FALSE)
                    AND p.pass_source NOT IN ('module scopes', 'annotations')
                ) AND coalesce(g.is_agreed, TRUE) AS complete
            ),
        coalesce(
            CASE WHEN p.issued_ns < s.end_ns THEN s.stage END, p.device_stage, l.stage
        ) AS stage, l.tokens, l.requests
    FROM on_device AS p
    ASOF LEFT JOIN (SELECT * FROM _steps WHERE device IS NULL AND stage IS NOT NULL) AS s
        ON s.trace_id = p.trace_id AND s.start_ns <= p.issued_ns
    LEFT JOIN _anchor_plans AS a
        ON a.trace_id = p.trace_id
        AND a.device = p.device
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
        CAST(sum(busy_ns) OVER (PARTITION BY trace_id, device, series) AS DOUBLE)
            AS series_ns
    FROM staged
    WINDOW
        peers AS (PARTITION BY trace_id, device, series, direction, stage, complete),
        in_time AS (
            PARTITION BY trace_id, device, series, direction, stage, complete
            ORDER BY pass_id
        ),
        on_device AS (PARTITION BY trace_id, device, series, direction ORDER BY pass_id)
)
SELECT
    trace_id, rank, device, pass_id, series, direction, series_ns, series_nth, stage, tokens,
    requests, pass_source, complete, num_layers, layer_count, start_ns, end_ns, busy_ns,
    first_layer_ns, anchor_count, remainder, ordinal, growth, first_growth, deviation,
    complete AND coalesce(abs(growth - 1) <= 0.05 AND deviation <= 0.05, FALSE) AS is_steady, peers
FROM compared;

-- One row per forward pass and device. A pass is a call of one model; the passes of each model of a
-- trace form a series, judged separately. A pass is its layers: what comes before, between and
-- after is in pass_parts. The chosen pass is the one to look at: the first whose span is within 5 %
-- of the pass before it and of the median, else the one nearest to the median, the later of two.
--
-- stored: per trace
--
-- key: trace_id, device, pass_id
--
-- trace_id        VARCHAR  trace
-- rank            INTEGER  rank in the job, NULL if unknown
-- device          INTEGER  device the pass ran on
-- pass_id         BIGINT   pass, from 0 in time order
-- series          VARCHAR  the model: module around the layers, program, annotation, or anchor if
--                          the trace shows none of these
-- main_series     BOOLEAN  the series that takes the most time on the device
-- direction       VARCHAR  forward, backward or weight gradient, in training that shows it, else
--                          NULL, as for rollouts between (under torch.no_grad); layers of backward
--                          passes have their forward numbers if autograd links them, or the passes
--                          compute activations again
-- stage           VARCHAR  prefill, decode or mixed, by the step's annotation, else by the shapes
--                          of the attention; NULL if unknown, as for a model that only takes whole
--                          sequences (it may be an encoder), and for passes of training
-- tokens          BIGINT   tokens of the pass by these shapes, NULL if unknown
-- requests        BIGINT   requests of the pass by these shapes, NULL if unknown
-- pass_source     VARCHAR  how the passes were found: module scopes, annotations, module calls
--                          (or calls of compiled code; layers by anchors), program run,
--                          step annotations, signature break (once-per-pass kernels), idle gap,
--                          anchor count
-- complete        BOOLEAN  all layers of the model are present and whole
-- num_layers      INTEGER  layers of a complete pass
-- layer_count     BIGINT   layers seen
-- start_ns        BIGINT   start of the first layer
-- end_ns          BIGINT   end of the last layer
-- span_us         DOUBLE   from that start to that end
-- busy_us         DOUBLE   time with at least one kernel of a layer running
-- avg_layer_us    DOUBLE   span per layer
-- first_layer_us  DOUBLE   wall time of layer 0
-- note            VARCHAR  partial: not complete; single-pass: no other to compare with; steady:
--                          span within 5 % of the pass before it, if there is one, and of the
--                          median; cold: the first of the others; growing: more than 5 % longer
--                          than the pass before it; NULL: none of these
-- reference_note  VARCHAR  judgement by layer 0 alone, for comparison: cold-start, growing with the
--                          factor, steady-state; NULL: none of these
-- chosen          BOOLEAN  the pass to look at, one per device, series, direction and
--                          stage
-- anchor_count    BIGINT   anchors on the device, NULL if the layers need none
-- remainder       BIGINT   anchors left over after whole passes and a first, partial one; 0 when
--                          the count is explained
-- coverage_pct    DOUBLE   share of the device's busy time that the layers of all passes of the
--                          series and direction hold; pass_coverage has the rest
CREATE VIEW passes AS
SELECT
    p.trace_id, p.rank, p.device, p.pass_id, p.series,
    p.series = first_value(p.series) OVER (
        PARTITION BY p.trace_id, p.device ORDER BY p.series_ns DESC, p.series
    ) AS main_series,
    p.direction, stage, tokens, requests, pass_source, complete, num_layers,
    layer_count, start_ns, end_ns, (end_ns - start_ns) / 1000.0 AS span_us,
    p.busy_ns / 1000.0 AS busy_us,
    (end_ns - start_ns) / 1000.0 / layer_count AS avg_layer_us,
    first_layer_ns / 1000.0 AS first_layer_us,
    CASE
        WHEN NOT complete THEN 'partial'
        WHEN peers = 1 THEN 'single-pass'
        WHEN is_steady OR ordinal = 0 AND deviation <= 0.05 THEN 'steady'
        WHEN ordinal = 0 THEN 'cold'
        WHEN growth > 1.05 THEN 'growing'
    END AS note,
    CASE
        WHEN series_nth = 0 THEN 'cold-start'
        WHEN abs(first_growth - 1) < 0.05 AND series_nth > 2 THEN 'steady-state'
        WHEN first_growth > 1.5 THEN format('growing {:.1f}x', first_growth)
    END AS reference_note,
    1 = row_number() OVER (
        PARTITION BY p.trace_id, p.device, p.series, p.direction, stage
        ORDER BY
            complete DESC, is_steady DESC,
            CASE WHEN complete AND NOT is_steady THEN round(deviation, 9) END,
            layer_count DESC, CASE WHEN is_steady THEN p.pass_id ELSE -p.pass_id END
    ) AS chosen,
    anchor_count, remainder, 100 * CAST(c.held_ns AS DOUBLE) / nullif(c.busy_ns, 0) AS coverage_pct
FROM _pass_spans AS p
LEFT JOIN _pass_coverage AS c
    ON c.trace_id = p.trace_id AND c.device = p.device
    AND c.series = p.series AND c.direction IS NOT DISTINCT FROM p.direction AND c.part = 'layers';
