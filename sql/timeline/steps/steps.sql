-- One row per step and device: when it was, what ran in it, and whether it counts.
--
-- The work of a step is the device work issued from it (see kernels), whenever that ran; its time
-- is that work's, from the first operation's start to the last one's end. The time in which the
-- host issued it is another measure and has its own columns, host_*. Steps marked on the device,
-- and runs of programs or passes that serve as steps, are intervals of the device's time.
--
-- What an engine marks as drafts of speculative decoding is no step and belongs to none: a step of
-- SGLang is the target model's, the period an iteration with its drafts.
--
-- step_times combines the devices of a step, step_states has what they did, step_classes and
-- step_summary the statistics.
--
-- key: trace_id, device, step_id
--
-- trace_id        VARCHAR  trace
-- rank            INTEGER  rank in the job, NULL if unknown
-- device          INTEGER  device; -1, Kineto's number of the host, in a trace without device
--                          operations
-- step_id         BIGINT   step, from 0 in the order of their marks on the device
-- step_number     BIGINT   number of the step, NULL if the trace gives none
-- step_source     VARCHAR  step line, profiler step, engine step, train step, optimizer step,
--                          program or pass: see the table step_sources
-- work_source     VARCHAR  source of the step's work: launches (in its time on the host),
--                          program runs (that the host enqueued in it), step ids (each operation
--                          names its step), device marks (operations that start between them), or
--                          host time (operations that start in it, for lack of anything better);
--                          NULL in a trace without device operations
-- program         VARCHAR  what it ran: the longest compiled program in it, else the stage of an
--                          engine's step (prefill, decode, mixed); NULL if not shown
-- execution_id    BIGINT   run of that program
-- requests        BIGINT   requests in it, by its name or its pass; NULL if unknown
-- tokens          BIGINT   tokens that it computes, by its name or its pass; NULL if unknown
-- host_start_ns   BIGINT   start of its mark on the host, NULL if the host is not marked, ns
-- host_end_ns     BIGINT   end of that mark, ns
-- host_us         DOUBLE   from that start to that end, µs
-- start_ns        BIGINT   start of its time on the device: of its first operation, or of the
--                          device's mark; by host time, and in a trace without device operations,
--                          the host's mark; NULL for a step that launched nothing, ns
-- end_ns          BIGINT   end of that time: of its last operation, or of the mark, ns
-- dur_us          DOUBLE   from that start to that end, µs
-- ops             BIGINT   operations of the device that belong to it
-- first_op_ns     BIGINT   start of the first of them, ns
-- last_op_ns      BIGINT   end of the last of them, ns
-- span_us         DOUBLE   from that start to that end, µs
-- busy_us         DOUBLE   union of these operations, except those that only wait; if the step is
--                          an interval of time, of what ran in it, µs
-- period_us       DOUBLE   from the start of its first operation on the stream that computes most
--                          to that of the next step, µs: a batch may be copied far ahead
-- is_warm_up      BOOLEAN  one of the first steps of its program that are left out of figures
-- is_partial      BOOLEAN  first or last step, only partly in the trace, on some device
-- step_class      VARCHAR  typical, light or heavy, by the longest duration on a device; NULL for
--                          steps left out
-- representative  BOOLEAN  the step that represents its class
CREATE VIEW steps AS
SELECT
    steps.trace_id, rank, steps.device, steps.step_id, steps.step_number, steps.step_source,
    steps.work_source, steps.program, steps.execution_id, steps.requests, steps.tokens,
    steps.host_start_ns, steps.host_end_ns,
    (steps.host_end_ns - steps.host_start_ns) / 1000.0 AS host_us, steps.start_ns, steps.end_ns,
    (steps.end_ns - steps.start_ns) / 1000.0 AS dur_us, steps.ops, steps.first_ns AS first_op_ns,
    steps.last_ns AS last_op_ns, (steps.last_ns - steps.first_ns) / 1000.0 AS span_us,
    (compute_ns + communication_ns + memory_ns) / 1000.0 AS busy_us,
    (
        lead(steps.lead_ns) OVER (
            PARTITION BY steps.trace_id, steps.device ORDER BY steps.step_id
        ) - steps.lead_ns
    ) / 1000.0 AS period_us,
    timed.is_warm_up, timed.is_partial, classed.step_class,
    coalesce(classes.representative_id = timed.step_id, FALSE) AS representative
FROM _device_steps AS steps
JOIN traces USING (trace_id)
JOIN _timed_steps AS timed
    ON timed.trace_id = steps.trace_id AND timed.nth = steps.nth
    AND timed.step_number IS NOT DISTINCT FROM steps.step_number
LEFT JOIN _step_parts AS parts
    ON parts.trace_id = steps.trace_id AND parts.device = steps.device
    AND parts.step_id = steps.step_id
LEFT JOIN _classed_steps AS classed
    ON classed.trace_id = steps.trace_id AND classed.step_id = timed.step_id
LEFT JOIN _class_steps AS classes
    ON classes.trace_id = steps.trace_id AND classes.step_class = classed.step_class
    AND classes.program IS NOT DISTINCT FROM classed.program;
