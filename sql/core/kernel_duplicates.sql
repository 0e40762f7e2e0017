-- One row per device row of an Ascend trace that does not count, because another row has its time
-- or because it only serves a collective that does.
--
-- A collective is recorded as a whole (logical) and as the operations that carry it out (physical,
-- service, small tasks), and a folder's timeline repeats the rows of its table of kernels.
-- `kernels` leaves these rows out; a trace's setting dedup decides which they are.
--
-- key: trace_id, kernel_id
--
-- trace_id   VARCHAR  trace
-- rank       INTEGER  rank in the job, NULL if unknown
-- device     INTEGER  device
-- kernel_id  BIGINT   event_id of the row
-- twin_id    BIGINT   event_id of the row that owns the time, NULL if no row does
-- rule       VARCHAR  aiv_exact (same start and duration), aiv_near (within a microsecond),
--                     aicpu_service (the AI CPU's part), small_task (a copy or signal inside),
--                     timeline_twin (the table has it), compat (the rule of published figures)
-- name       VARCHAR  name
-- op_type    VARCHAR  op type
-- start_ns   BIGINT   start, ns
-- dur_ns     BIGINT   duration, ns
-- dur_us     DOUBLE   duration, µs
-- end_ns     BIGINT   end, ns
CREATE VIEW kernel_duplicates AS
SELECT
    trace_id, traces.rank, _ascend_rows.device, kernel_id, _duplicates.twin_id, _duplicates.rule,
    _ascend_rows.name, _ascend_rows.op_type, _ascend_rows.start_ns, _ascend_rows.dur_ns,
    _ascend_rows.dur_ns / 1000.0 AS dur_us,
    _ascend_rows.end_ns
FROM _duplicates
JOIN _ascend_rows USING (trace_id, kernel_id)
JOIN traces USING (trace_id);
