-- One row per trace of TPUs whose slices exchange data over the network of the data centre:
-- MegaScale, the runtime that does it, sends and receives by the host. XLA gives these operations
-- the categories of callbacks (host send, host recv-done), but their instructions name MegaScale;
-- those that end a transfer need not.
--
-- stored: per jax trace
--
-- key: trace_id
--
-- trace_id   VARCHAR    trace
-- callbacks  VARCHAR[]  names of the operations that begin a transfer of another handler: callbacks
--                       of the program
CREATE VIEW multislice_traces AS
SELECT
    trace_id,
    coalesce(list(DISTINCT ltrim(name, '%')) FILTER (NOT is_megascale), []) AS callbacks
FROM (
    SELECT
        events.trace_id, events.name, contains(events.args, 'xla_megascale_') AS is_megascale
    FROM events
    JOIN _lines AS l
        ON l.trace_id = events.trace_id AND l.pid = events.pid AND l.tid = events.tid
    WHERE
        events.lane = 'device' AND l.role = 'operation'
        AND (
            contains(events.args, 'xla_megascale_')
            OR contains(events.args, '_xla_host_transfer_handler_name')
        )
)
GROUP BY trace_id
HAVING bool_or(is_megascale);
