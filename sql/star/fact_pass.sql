-- One row per forward pass and device.
--
-- key: pass_key
--
-- pass_key        BIGINT     key, from 1 by trace, device and pass
-- trace_key       INTEGER    trace, in dim_trace
-- hardware_key    INTEGER    what it ran on, in dim_hardware
-- device          INTEGER    device it ran on
-- pass_id         BIGINT     pass, from 0 in time order
-- series          VARCHAR    the model, where a trace runs several
-- direction       VARCHAR    forward, backward or weight gradient in training, else NULL
-- stage           VARCHAR    prefill, decode or mixed; NULL if unknown
-- tokens          BIGINT     tokens of the pass, NULL if unknown
-- requests        BIGINT     requests of the pass, NULL if unknown
-- complete        BOOLEAN    all layers of the model are present and whole
-- chosen          BOOLEAN    the pass to look at, see passes
-- num_layers      INTEGER    layers of a complete pass
-- layer_count     BIGINT     layers seen
-- start_ns        BIGINT     start of the first layer, ns
-- end_ns          BIGINT     end of the last layer, ns
-- start_at        TIMESTAMP  that start, UTC
-- end_at          TIMESTAMP  that end, UTC
-- span_us         DOUBLE     from that start to that end, µs
-- busy_us         DOUBLE     time with at least one kernel of a layer running, µs
-- avg_layer_us    DOUBLE     span per layer, µs
-- first_layer_us  DOUBLE     wall time of layer 0, µs
CREATE VIEW fact_pass AS
SELECT
    row_number() OVER (ORDER BY t.trace_key, p.device, p.pass_id) AS pass_key, t.trace_key,
    t.hardware_key, p.device, p.pass_id, p.series, p.direction, p.stage, p.tokens, p.requests,
    p.complete, p.chosen, p.num_layers, p.layer_count, p.start_ns, p.end_ns,
    _moment(t.recorded_at, t.clock_ns, p.start_ns) AS start_at,
    _moment(t.recorded_at, t.clock_ns, p.end_ns) AS end_at, p.span_us, p.busy_us, p.avg_layer_us,
    p.first_layer_us
FROM passes AS p
JOIN _star_traces AS t USING (trace_id);
