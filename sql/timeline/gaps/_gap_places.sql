-- One row per gap with the phase of its payload, and its region: the first four scopes of its path,
-- as _device_ops has it.
--
-- trace_id       VARCHAR  trace
-- rank           INTEGER  rank in the job, NULL if unknown
-- device         INTEGER  device
-- gap_us         DOUBLE   length, µs
-- window_pct     DOUBLE   share of the time of all devices of the trace
-- host_bound_us  DOUBLE   part in which the device waited for the host to launch work, µs
-- payload_name   VARCHAR  operation that the device waited for
-- region         VARCHAR  up to four scopes, joined by =>; (unattributed) if unknown
-- phase          VARCHAR  forward, backward or recompute; NULL if unknown
CREATE VIEW _gap_places AS
SELECT
    gaps.trace_id, gaps.rank, gaps.device, gaps.gap_us, gaps.window_pct, gaps.host_bound_us,
    gaps.payload_name,
    coalesce(
        array_to_string(list_slice(string_split(_device_ops.path, '=>'), 1, 4), '=>'),
        '(unattributed)'
    ) AS region,
    _device_ops.phase
FROM gaps
LEFT JOIN _device_ops
    ON _device_ops.trace_id = gaps.trace_id AND _device_ops.kernel_id = gaps.payload_id;
