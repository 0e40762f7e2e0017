-- One row per device operation: kernels, copies and fills, each once. Operations that enclose
-- others, such as a loop of XLA, are left out, so that durations can be summed.
--
-- key: kernel_key
--
-- kernel_key       BIGINT     key, from 1 by trace and kernel_id
-- trace_key        INTEGER    trace, in dim_trace
-- hardware_key     INTEGER    what it ran on, in dim_hardware
-- kernel_name_key  INTEGER    its name, in dim_kernel_name
-- category_key     INTEGER    its category, in dim_category
-- device           INTEGER    device it ran on
-- stream           BIGINT     stream it ran on
-- kernel_id        BIGINT     event_id of the operation in its trace
-- pass_id          BIGINT     forward pass, see fact_pass; -1 outside of passes
-- layer_id         BIGINT     layer, see fact_layer; -1 outside of layers
-- start_ns         BIGINT     start on the file's clock, ns
-- end_ns           BIGINT     end, ns
-- start_at         TIMESTAMP  start, UTC; exact where recorded_at_source of the trace is clock
-- end_at           TIMESTAMP  end, UTC
-- dur_ns           BIGINT     duration, ns
-- dur_us           DOUBLE     duration, µs
-- flop             DOUBLE     FLOP that it does; NULL if unknown, see kernel_roofline
-- bytes            DOUBLE     bytes of memory it has to move; NULL if unknown
-- roof_us          DOUBLE     minimum time that its chip needs for them, µs; NULL if unknown
CREATE VIEW fact_kernel AS
SELECT
    row_number() OVER (ORDER BY t.trace_key, k.kernel_id) AS kernel_key, t.trace_key,
    t.hardware_key, coalesce(n.kernel_name_key, 0) AS kernel_name_key,
    coalesce(c.category_key, 0) AS category_key, k.device, k.stream, k.kernel_id,
    coalesce(r.pass_id, -1) AS pass_id, coalesce(r.layer_id, -1) AS layer_id, k.start_ns, k.end_ns,
    _moment(t.recorded_at, t.clock_ns, k.start_ns) AS start_at,
    _moment(t.recorded_at, t.clock_ns, k.end_ns) AS end_at, k.dur_ns, k.dur_us, r.flop, r.bytes,
    r.roof_us
FROM kernels AS k
ANTI JOIN enclosing_kernels AS e ON e.trace_id = k.trace_id AND e.kernel_id = k.kernel_id
JOIN _star_traces AS t USING (trace_id)
LEFT JOIN kernel_roofline AS r ON r.trace_id = k.trace_id AND r.kernel_id = k.kernel_id
LEFT JOIN dim_kernel_name AS n ON n.name = k.name AND n.kernel_name_key > 0
LEFT JOIN dim_category AS c
    ON c.category = k.category AND c.kind = k.kind AND c.category_key > 0;
