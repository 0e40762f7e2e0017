-- One row per device operation of a trace file: kernels, copies and fills, before names are read
-- and launches found.
-- trace_id        VARCHAR  trace
-- kernel_id       BIGINT   event_id of the operation
-- device          INTEGER  device it ran on
-- stream          BIGINT   stream it ran on
-- start_ns        BIGINT   start, ns
-- dur_ns          BIGINT   duration, ns
-- end_ns          BIGINT   end, ns
-- name            VARCHAR  full name
-- event_category  VARCHAR  category in the file
-- correlation     BIGINT   id shared with the launch
-- external_id     BIGINT   id shared with the operator
CREATE VIEW _operations AS
SELECT
    events.trace_id,
    events.event_id AS kernel_id,
    -- Kineto's process number of a device event is the device.
    coalesce(events.device, _lines.device, TRY_CAST(events.pid AS INTEGER)) AS device,
    coalesce(events.stream, TRY_CAST(events.tid AS BIGINT)) AS stream,
    events.start_ns,
    events.dur_ns,
    events.end_ns,
    events.name,
    events.category AS event_category,
    nullif(events.correlation, 0) AS correlation,
    events.external_id
FROM events
LEFT JOIN _lines
    ON _lines.trace_id = events.trace_id AND _lines.pid = events.pid AND _lines.tid = events.tid
WHERE
    events.lane = 'device'
    AND events.dur_ns IS NOT NULL
    AND (
        events.category IN ('kernel', 'gpu_memcpy', 'gpu_memset', 'memcpy', 'memset')
        OR _lines.role = 'operation'
    );
