-- One row per forward pass and device. A pass is a call of one model; the passes of each model of a
-- trace are a series, judged by itself. A pass is its layers: what comes before, between and after
-- stands in pass_parts. The chosen pass is the one to look at: the first whose span is within 5 %
-- of the pass before it and of the median, else the one nearest to the median, the later of two.
-- trace_id        VARCHAR  trace
-- rank            INTEGER  rank in the job, NULL when unknown
-- device          INTEGER  device the pass ran on
-- pass_id         BIGINT   pass, from 0 in time order
-- series          VARCHAR  the model: module around the layers, program, annotation, or anchor
--                          where
--                          the trace shows none of these
-- main_series     BOOLEAN  of all series of the device it takes most time
-- direction       VARCHAR  forward, backward or weight gradient, in training that shows it, else
--                          NULL; layers of backward passes bear their forward numbers where the
--                          autograd tells them
-- stage           VARCHAR  prefill, decode or mixed, by the step's annotation, else by the shapes
--                          of the attention; NULL when unknown
-- tokens          BIGINT   tokens of the pass by these shapes, NULL when unknown
-- requests        BIGINT   requests of the pass by these shapes, NULL when unknown
-- pass_source     VARCHAR  how the passes were found: module scopes, annotations, module calls
--                          (layers by anchors), program run, step annotations, signature break
--                          (once-per-pass kernels), idle gap,
--                          anchor count
-- complete        BOOLEAN  all layers of the model are there, and whole
-- num_layers      INTEGER  layers of a complete pass
-- layer_count     BIGINT   layers seen
-- start_ns        BIGINT   start of the first layer
-- end_ns          BIGINT   end of the last layer
-- span_us         DOUBLE   from that start to that end
-- busy_us         DOUBLE   time with at least one kernel of a layer running
-- avg_layer_us    DOUBLE   span per layer
-- first_layer_us  DOUBLE   wall time of layer 0
-- note            VARCHAR  cold, growing, steady, single-pass, partial; NULL: none of these
-- reference_note  VARCHAR  what a look at layer 0 alone would say, for comparison: cold-start,
--                          growing with the factor, steady-state; NULL: none of these
-- chosen          BOOLEAN  the pass to look at, one per device, series, direction and
--                          stage
-- anchor_count    BIGINT   anchors on the device, NULL where the layers need none
-- remainder       BIGINT   anchors that whole passes and a first, partial one leave over; 0 when
--                          the count is explained
-- coverage_pct    DOUBLE   share of the device's busy time that the layers of all passes of the
--                          series and direction hold; pass_coverage says what holds the rest
CREATE VIEW passes AS
SELECT
    p.trace_id, p.rank, p.device, p.pass_id, p.series,
    p.series = first_value(p.series) OVER (
        PARTITION BY p.trace_id, p.rank, p.device ORDER BY p.series_ns DESC, p.series
    ) AS main_series,
    p.direction, stage, tokens, requests, pass_source, complete, num_layers,
    layer_count, start_ns, end_ns, (end_ns - start_ns) / 1000.0 AS span_us,
    p.busy_ns / 1000.0 AS busy_us,
    (end_ns - start_ns) / 1000.0 / layer_count AS avg_layer_us,
    first_layer_ns / 1000.0 AS first_layer_us,
    CASE
        WHEN NOT complete THEN 'partial'
        WHEN peers = 1 THEN 'single-pass'
        WHEN ordinal = 0 THEN 'cold'
        WHEN is_steady THEN 'steady'
        WHEN growth > 1.05 THEN 'growing'
    END AS note,
    CASE
        WHEN series_nth = 0 THEN 'cold-start'
        WHEN abs(first_growth - 1) < 0.05 AND series_nth > 2 THEN 'steady-state'
        WHEN first_growth > 1.5 THEN format('growing {:.1f}x', first_growth)
    END AS reference_note,
    1 = row_number() OVER (
        PARTITION BY p.trace_id, p.rank, p.device, p.series, p.direction, stage
        ORDER BY
            complete DESC, is_steady DESC,
            CASE WHEN complete AND NOT is_steady THEN round(deviation, 9) END,
            layer_count DESC, CASE WHEN is_steady THEN p.pass_id ELSE -p.pass_id END
    ) AS chosen,
    anchor_count, remainder, 100 * c.held_ns / nullif(c.busy_ns, 0) AS coverage_pct
FROM _pass_spans AS p
LEFT JOIN _pass_coverage AS c
    ON c.trace_id = p.trace_id AND c.device IS NOT DISTINCT FROM p.device
    AND c.series = p.series AND c.direction IS NOT DISTINCT FROM p.direction AND c.part = 'layers';
