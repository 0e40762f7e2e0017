-- One row per gap with the phase of its payload, and its region: the first four scopes of its path.
-- If the payload has no path, it takes the most frequent one of the same operation in its program.
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
WITH wanted AS (
    SELECT DISTINCT trace_id, payload_name AS name FROM gaps
),
scoped AS (
    SELECT
        _device_ops.trace_id, _device_ops.kernel_id, _device_ops.program, _device_ops.name,
        _device_ops.path, _device_ops.phase
    FROM _device_ops
    SEMI JOIN wanted USING (trace_id, name)
),
frequent AS (
    SELECT trace_id, program, name, arg_max(path, (calls, path)) AS path
    FROM (
        SELECT trace_id, program, name, path, count(*) AS calls
        FROM scoped
        WHERE path IS NOT NULL
        GROUP BY trace_id, program, name, path
    )
    GROUP BY trace_id, program, name
)
SELECT
    gaps.trace_id, gaps.rank, gaps.device, gaps.gap_us, gaps.window_pct, gaps.host_bound_us,
    gaps.payload_name,
    coalesce(
        array_to_string(
            list_slice(string_split(coalesce(scoped.path, frequent.path), '=>'), 1, 4), '=>'
        ),
        '(unattributed)'
    ) AS region,
    scoped.phase
FROM gaps
LEFT JOIN scoped
    ON scoped.trace_id = gaps.trace_id AND scoped.kernel_id = gaps.payload_id
LEFT JOIN frequent
    ON frequent.trace_id = scoped.trace_id AND frequent.name = scoped.name
    AND frequent.program IS NOT DISTINCT FROM scoped.program;
