-- One row per pass as a report lists it: times from the trace's first event.
-- trace_id        VARCHAR  trace
-- rank            INTEGER  rank in the job, NULL if unknown
-- device          INTEGER  device
-- pass_id         BIGINT   pass, from 0 in time order
-- series          VARCHAR  series of passes
-- direction       VARCHAR  forward, backward or weight gradient, NULL outside such training
-- stage           VARCHAR  prefill, decode, training or mixed
-- start_s         DOUBLE   start from the trace's first event, s
-- end_s           DOUBLE   end from the trace's first event, s
-- span_us         DOUBLE   from its first layer's start to its last one's end
-- avg_layer_us    DOUBLE   span / layers
-- first_layer_us  DOUBLE   wall time of its first layer
-- layer_count     BIGINT   layers found
-- complete        BOOLEAN  it has all layers of the model
-- note            VARCHAR  cold, growing, steady, ...
-- chosen          BOOLEAN  it represents the others
-- among           VARCHAR  the passes that it is compared with: its series, direction and stage,
--                          as far as the trace has several; empty if it is compared with all
-- pass_source     VARCHAR  how the passes were found
-- coverage_pct    DOUBLE   share of the device's busy time in the layers of its series
CREATE VIEW _pass_pages AS
SELECT
    p.trace_id, p.rank, p.device, p.pass_id, p.series, p.direction, p.stage,
    (p.start_ns - t.origin_ns) / 1e9 AS start_s, (p.end_ns - t.origin_ns) / 1e9 AS end_s,
    p.span_us, p.avg_layer_us, p.first_layer_us, p.layer_count, p.complete, p.note, p.chosen,
    concat_ws(
        ', ',
        CASE WHEN count(DISTINCT p.series) OVER of_trace > 1 THEN p.series END,
        CASE WHEN count(DISTINCT p.direction) OVER of_trace > 1 THEN p.direction END,
        CASE WHEN count(DISTINCT p.stage) OVER of_trace > 1 THEN p.stage END
    ) AS among,
    p.pass_source, p.coverage_pct
FROM passes AS p
JOIN traces AS t ON t.trace_id = p.trace_id
WINDOW of_trace AS (PARTITION BY p.trace_id);
