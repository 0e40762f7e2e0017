-- One row per device operation, when and where it ran: those of XLA from their lines, all others
-- from kernels.
-- trace_id   VARCHAR  trace
-- kernel_id  BIGINT   event_id
-- pid        VARCHAR  process of the line; the device where kernels have no lines
-- tid        VARCHAR  thread of the line; the stream where kernels have no lines
-- start_ns   BIGINT   start, ns
-- end_ns     BIGINT   end, ns
CREATE VIEW _op_rows AS
SELECT trace_id, kernel_id, pid, tid, start_ns, end_ns
FROM _xla_ops
UNION ALL
SELECT
    trace_id, kernel_id, coalesce(CAST(device AS VARCHAR), ''),
    coalesce(CAST(stream AS VARCHAR), ''), start_ns, end_ns
FROM kernels
ANTI JOIN (SELECT DISTINCT trace_id FROM _xla_ops) USING (trace_id)
WHERE dur_ns >= 0;
