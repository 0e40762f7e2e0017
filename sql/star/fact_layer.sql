-- One row per pass and layer.
--
-- key: layer_key
--
-- layer_key     BIGINT     key, from 1 by trace, device, pass and layer
-- pass_key      BIGINT     pass, in fact_pass
-- trace_key     INTEGER    trace, in dim_trace
-- hardware_key  INTEGER    what it ran on, in dim_hardware
-- device        INTEGER    device it ran on
-- pass_id       BIGINT     pass, from 0 in time order
-- layer_id      BIGINT     layer, from 0
-- direction     VARCHAR    forward, backward or weight gradient in training, else NULL
-- layer_type    VARCHAR    type by the model's config, NULL if unknown
-- start_ns      BIGINT     start of its first kernel, ns
-- end_ns        BIGINT     latest end of its kernels, ns
-- start_at      TIMESTAMP  that start, UTC
-- end_at        TIMESTAMP  that end, UTC
-- wall_us       DOUBLE     from that start to that end, µs
-- sum_us        DOUBLE     sum of the durations of its operations, µs; overlaps count twice
-- busy_us       DOUBLE     time from start to end with at least one of them running, µs
-- gap_after_us  DOUBLE     from its end to the next layer's start, µs; negative when they overlap
-- kernel_count  BIGINT     kernels, without copies and fills of memory
-- comm_count    BIGINT     communication kernels among them
-- memory_count  BIGINT     copies and fills of memory
-- memory_us     DOUBLE     sum of their durations, part of sum_us, µs
CREATE VIEW fact_layer AS
SELECT
    row_number() OVER (ORDER BY t.trace_key, l.device, l.pass_id, l.layer_id) AS layer_key,
    p.pass_key, t.trace_key, t.hardware_key, l.device, l.pass_id, l.layer_id, l.direction,
    l.layer_type, l.start_ns, l.end_ns,
    _moment(t.recorded_at, t.clock_ns, l.start_ns) AS start_at,
    _moment(t.recorded_at, t.clock_ns, l.end_ns) AS end_at, l.wall_us, l.sum_us, l.busy_us,
    l.gap_after_us, l.kernel_count, l.comm_count, l.memory_count, l.memory_us
FROM layers AS l
JOIN _star_traces AS t USING (trace_id)
JOIN fact_pass AS p
    ON p.trace_key = t.trace_key AND p.device = l.device AND p.pass_id = l.pass_id;
