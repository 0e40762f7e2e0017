-- One row per operation on a line of XLA that encloses others, such as a loop, a call or a
-- conditional: its time is theirs.
--
-- stored: meanwhile
--
-- trace_id   VARCHAR  trace
-- kernel_id  BIGINT   the operation
CREATE VIEW _enclosing_kernels AS
SELECT k.trace_id, k.kernel_id
FROM kernels AS k
SEMI JOIN (
    SELECT trace_id, device FROM lines WHERE role = 'operation' AND starts_with(process, '/device:')
) AS l
    ON l.trace_id = k.trace_id AND l.device = k.device
WHERE k.kind <> 'memory' AND k.dur_ns > 3
WINDOW line AS (
    -- Three nanoseconds allow for rounded picoseconds; shorter operations enclose nothing.
    PARTITION BY k.trace_id, k.device, k.stream ORDER BY k.start_ns, k.end_ns DESC, k.kernel_id
)
QUALIFY lead(k.start_ns) OVER line < k.end_ns - 3 AND lead(k.end_ns) OVER line <= k.end_ns + 3;
