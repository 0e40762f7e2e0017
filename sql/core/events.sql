-- One row per event of a trace file, as the file has it; overlapping events are all here.
--
-- A begin event (ph B) that has an end event (ph E) carries the end's time and both events'
-- arguments; the end event stays a row of its own, without a duration.
--
-- key: trace_id, event_id
--
-- trace_id      VARCHAR  trace
-- lane          VARCHAR  device, host, python, flow or meta: kinds of events stored apart on disk
-- event_id      BIGINT   place of the event in the file's array, from 0
-- ph            VARCHAR  phase, the type of event in the Chrome trace format: X, B, E, i, C, M, s,
--                        t, f, b, n, e
-- category      VARCHAR  category ("cat") in lower case; PyTorch 1.8's Operator is cpu_op
-- name          VARCHAR  name
-- pid           VARCHAR  process; for device events often the device
-- tid           VARCHAR  thread; for device events often the stream
-- start_ns      BIGINT   start in ns on the file's clock, rounded from the file's decimal
--                        microseconds
-- dur_ns        BIGINT   end_ns - start_ns, in ns; NULL for events without a duration
-- dur_us        DOUBLE   the same in µs
-- end_ns        BIGINT   end in ns, rounded from the decimal sum of start and duration
-- correlation   BIGINT   id shared by a launch and what it launched
-- external_id   BIGINT   id shared by an operator and what it caused ("External id")
-- device        INTEGER  device number, where the event names it
-- stream        BIGINT   stream number, where the event names it
-- input_dims    VARCHAR  shapes of an operator's inputs, JSON
-- input_types   VARCHAR  types of an operator's inputs, JSON
-- id            VARCHAR  id of flow and async events
-- args          VARCHAR  all arguments, JSON; of a Chrome trace, numbers with a fraction as doubles
-- extra         VARCHAR  fields of the event that have no column, JSON
CREATE VIEW events AS
SELECT
    trace_id, lane, event_id, ph, category, name, pid, tid, start_ns, dur_ns,
    dur_ns / 1000.0 AS dur_us, end_ns, correlation, external_id, device, stream, input_dims,
    input_types, id, args, extra
FROM _event_rows;
