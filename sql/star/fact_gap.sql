-- One row per gap between two operations of a device: what was idle, what came next, and why.
--
-- key: gap_key
--
-- gap_key                   BIGINT     key, from 1 by trace, device and gap
-- trace_key                 INTEGER    trace, in dim_trace
-- hardware_key              INTEGER    what was idle, in dim_hardware
-- previous_kernel_name_key  INTEGER    name of the operation before, in dim_kernel_name
-- marker_kernel_name_key    INTEGER    name of the operation that ends it, in dim_kernel_name
-- payload_kernel_name_key   INTEGER    name of the first one after it that does work, in
--                                      dim_kernel_name
-- device                    INTEGER    device
-- gap_id                    BIGINT     gap, from 0 in time order per device
-- step_id                   BIGINT     step of the operation that ends it, see fact_step; -1 if it
--                                      has none
-- kind                      VARCHAR    between_programs or inside_program; NULL if no programs
--                                      show
-- cause                     VARCHAR    what the device waited for longest, see idle_rules
-- is_shown                  BOOLEAN    long enough for a report
-- start_ns                  BIGINT     end of the last operation before, ns
-- end_ns                    BIGINT     start of the first operation after, ns
-- start_at                  TIMESTAMP  that end, UTC
-- end_at                    TIMESTAMP  that start, UTC
-- gap_us                    DOUBLE     from that end to that start, µs
-- host_bound_us             DOUBLE     part in which it waited for the host to launch, µs
CREATE VIEW fact_gap AS
SELECT
    row_number() OVER (ORDER BY t.trace_key, g.device, g.gap_id) AS gap_key, t.trace_key,
    t.hardware_key, coalesce(befores.kernel_name_key, 0) AS previous_kernel_name_key,
    coalesce(markers.kernel_name_key, 0) AS marker_kernel_name_key,
    coalesce(payloads.kernel_name_key, 0) AS payload_kernel_name_key, g.device, g.gap_id,
    coalesce(g.step_id, -1) AS step_id, g.kind, g.cause, g.is_shown, g.start_ns, g.end_ns,
    _moment(t.recorded_at, t.clock_ns, g.start_ns) AS start_at,
    _moment(t.recorded_at, t.clock_ns, g.end_ns) AS end_at, g.gap_us, g.host_bound_us
FROM gaps AS g
JOIN _star_traces AS t USING (trace_id)
LEFT JOIN dim_kernel_name AS befores
    ON befores.name = g.previous_name AND befores.kernel_name_key > 0
LEFT JOIN dim_kernel_name AS markers
    ON markers.name = g.marker_name AND markers.kernel_name_key > 0
LEFT JOIN dim_kernel_name AS payloads
    ON payloads.name = g.payload_name AND payloads.kernel_name_key > 0;
