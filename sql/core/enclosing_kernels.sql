-- One row per device whose line shows the operations of compiled programs, which nest.
--
-- stored: meanwhile
-- rows: of jax traces
CREATE VIEW _nesting_devices AS
SELECT DISTINCT trace_id, device
FROM lines
WHERE
    role = 'operation' AND starts_with(process, '/device:')
    -- Kernels of a GPU's stream contain no others.
    AND NOT starts_with(thread, 'Stream #');

-- One row per operation on a line of XLA that encloses others, such as a loop, a call or a
-- conditional: its time is theirs. Sums and counts over kernels leave it out; ops has the time in
-- which none of them runs, as its own.
--
-- stored: per trace
--
-- key: trace_id, kernel_id
--
-- trace_id   VARCHAR  trace
-- kernel_id  BIGINT   the operation
CREATE VIEW enclosing_kernels AS
SELECT k.trace_id, k.kernel_id
FROM kernels AS k
JOIN _nesting_devices AS l ON l.trace_id = k.trace_id AND l.device = k.device
LEFT JOIN _sparse_core_operations AS s
    ON s.trace_id = k.trace_id AND s.kernel_id = k.kernel_id
WHERE k.kind <> 'memory' AND k.dur_ns > 3
WINDOW line AS (
    -- Three nanoseconds allow for rounded picoseconds; shorter operations enclose nothing. The
    -- cores of a TPU may number their lines alike.
    PARTITION BY k.trace_id, k.device, s.core, k.stream
    ORDER BY k.start_ns, k.end_ns DESC, k.kernel_id
)
QUALIFY lead(k.start_ns) OVER line < k.end_ns - 3 AND lead(k.end_ns) OVER line <= k.end_ns + 3;
