-- One row per step and device: when it was, what ran in it, and whether it counts.
--
-- step_times has the devices of a step together, step_classes and step_summary the statistics.
--
-- trace_id        VARCHAR  trace
-- rank            INTEGER  rank in the job, NULL when unknown
-- device          INTEGER  device, NULL in a trace without device operations
-- step_id         BIGINT   step, from 0 in time order on its device
-- step_number     BIGINT   number of the step, NULL where the trace gives none
-- step_source     VARCHAR  step line, profiler step, engine step, train step, program or pass: what
--                          tells the steps, see the table step_sources
-- program         VARCHAR  what it ran: the longest compiled program in it, else the stage of an
--                          engine's step (prefill, decode, mixed); NULL when not shown
-- execution_id    BIGINT   run of that program
-- start_ns        BIGINT   start, ns
-- end_ns          BIGINT   end, ns
-- dur_us          DOUBLE   from that start to that end, µs
-- ops             BIGINT   operations of the device in it; where the host is marked, those launched
--                          in it
-- first_op_ns     BIGINT   start of the first of them, ns
-- last_op_ns      BIGINT   end of the last of them, ns
-- span_us         DOUBLE   from that start to that end, µs
-- period_us       DOUBLE   from the start of its first operation to that of the next step, µs
-- is_warm_up      BOOLEAN  one of the first steps of its program that are left out of figures
-- is_partial      BOOLEAN  first or last step of which the trace does not show all, on some device
-- step_class      VARCHAR  typical, light or heavy, by the longest duration on a device; NULL for
--                          steps left out
-- representative  BOOLEAN  the step that stands for its class
CREATE VIEW steps AS
SELECT
    steps.trace_id, rank, steps.device, steps.step_id, steps.step_number, steps.step_source,
    steps.program, steps.execution_id, steps.start_ns, steps.end_ns,
    (steps.end_ns - steps.start_ns) / 1000.0 AS dur_us, steps.ops, steps.first_ns AS first_op_ns,
    steps.last_ns AS last_op_ns, (steps.last_ns - steps.first_ns) / 1000.0 AS span_us,
    (
        lead(steps.first_ns) OVER (
            PARTITION BY steps.trace_id, steps.device ORDER BY steps.step_id
        ) - steps.first_ns
    ) / 1000.0 AS period_us,
    timed.is_warm_up, timed.is_partial, classed.step_class,
    coalesce(classes.representative_id = timed.step_id, FALSE) AS representative
FROM _device_steps AS steps
JOIN traces USING (trace_id)
JOIN _timed_steps AS timed
    ON timed.trace_id = steps.trace_id AND timed.nth = steps.nth
    AND timed.step_number IS NOT DISTINCT FROM steps.step_number
LEFT JOIN _classed_steps AS classed
    ON classed.trace_id = steps.trace_id AND classed.step_id = timed.step_id
LEFT JOIN _class_steps AS classes
    ON classes.trace_id = steps.trace_id AND classes.step_class = classed.step_class
    AND classes.program IS NOT DISTINCT FROM classed.program;
