-- One row per step and device.
--
-- key: step_key
--
-- step_key       BIGINT     key, from 1 by trace, device and step
-- trace_key      INTEGER    trace, in dim_trace
-- hardware_key   INTEGER    what it ran on, in dim_hardware
-- device         INTEGER    device; -1 for the host, in a trace without device operations
-- step_id        BIGINT     step, from 0
-- step_number    BIGINT     number of the step, NULL if the trace gives none
-- step_source    VARCHAR    what marks it, see steps
-- program        VARCHAR    what it ran: compiled program, or stage of an engine's step; NULL if
--                           not shown
-- step_class     VARCHAR    typical, light or heavy; NULL for steps left out
-- is_warm_up     BOOLEAN    one of the first steps of its program that are left out of figures
-- is_partial     BOOLEAN    first or last step, only partly in the trace
-- tokens         BIGINT     tokens that it computes, NULL if unknown
-- requests       BIGINT     requests in it, NULL if unknown
-- ops            BIGINT     operations of the device that belong to it
-- start_ns       BIGINT     start of its time on the device, NULL if it launched nothing, ns
-- end_ns         BIGINT     end of that time, ns
-- start_at       TIMESTAMP  that start, UTC
-- end_at         TIMESTAMP  that end, UTC
-- dur_us         DOUBLE     from that start to that end, µs
-- busy_us        DOUBLE     union of its operations, except those that only wait, µs
-- period_us      DOUBLE     from its start on the computing stream to that of the next step, µs
-- host_start_ns  BIGINT     start of its mark on the host, NULL if the host is not marked, ns
-- host_end_ns    BIGINT     end of that mark, ns
-- host_start_at  TIMESTAMP  that start, UTC
-- host_end_at    TIMESTAMP  that end, UTC
-- host_us        DOUBLE     from that start to that end, µs
CREATE VIEW fact_step AS
SELECT
    row_number() OVER (ORDER BY t.trace_key, s.device, s.step_id) AS step_key, t.trace_key,
    t.hardware_key, s.device, s.step_id, s.step_number, s.step_source, s.program, s.step_class,
    s.is_warm_up, s.is_partial, s.tokens, s.requests, s.ops, s.start_ns, s.end_ns,
    _moment(t.recorded_at, t.clock_ns, s.start_ns) AS start_at,
    _moment(t.recorded_at, t.clock_ns, s.end_ns) AS end_at, s.dur_us, s.busy_us, s.period_us,
    s.host_start_ns, s.host_end_ns,
    _moment(t.recorded_at, t.clock_ns, s.host_start_ns) AS host_start_at,
    _moment(t.recorded_at, t.clock_ns, s.host_end_ns) AS host_end_at, s.host_us
FROM steps AS s
JOIN _star_traces AS t USING (trace_id);
