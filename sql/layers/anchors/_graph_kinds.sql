-- One row per kind of graph on a device: launches that run the same kernels equally often.
--
-- stored: meanwhile
--
-- trace_id         VARCHAR   trace
-- device           INTEGER   device
-- kind             BIGINT    first launch of the kind
-- launches         BIGINT[]  its launches
-- names_and_calls  STRUCT[]  names of its kernels in _graph_counts, and how often they run
CREATE VIEW _graph_kinds AS
SELECT
    trace_id, device, min(launch_id) AS kind, list(launch_id) AS launches, names_and_calls
FROM (
    SELECT
        trace_id, device, launch_id,
        list({'name': name, 'calls': calls} ORDER BY name) AS names_and_calls
    FROM _graph_counts
    GROUP BY trace_id, device, launch_id
)
GROUP BY trace_id, device, names_and_calls;
