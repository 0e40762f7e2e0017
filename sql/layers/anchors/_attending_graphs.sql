-- One row per launch of a graph that runs attention at least twice, by one of its kernels: split
-- attention and its merge are two kernels of one layer, as in the graph of a draft.
--
-- stored: meanwhile
--
-- trace_id   VARCHAR  trace
-- device     INTEGER  device
-- launch_id  BIGINT   the launch
-- launch_ns  BIGINT   its start
-- stream     BIGINT   stream of its first attention
-- start_ns   BIGINT   start of its first kernel
-- last_ns    BIGINT   start of its last kernel
CREATE VIEW _attending_graphs AS
SELECT
    trace_id, device, launch_id, min(launch_ns) AS launch_ns,
    arg_min(stream, attention_at) FILTER (attentions > 0) AS stream,
    min(start_ns) AS start_ns, max(last_ns) AS last_ns
FROM (
    SELECT
        k.trace_id, k.device, k.launch_id, min(k.launch_ns) AS launch_ns,
        min(k.start_ns) AS start_ns, max(k.start_ns) AS last_ns,
        count(*) FILTER (r.role = 'inside') AS attentions,
        min((k.start_ns, k.kernel_id)) FILTER (r.role = 'inside') AS attention_at,
        arg_min(k.stream, (k.start_ns, k.kernel_id)) FILTER (r.role = 'inside') AS stream
    FROM kernels AS k
    LEFT JOIN anchor_roles AS r ON r.category = k.category
    WHERE k.launch_kernels > 1
    GROUP BY k.trace_id, k.device, k.launch_id, CASE WHEN r.role = 'inside' THEN k.name END
)
GROUP BY trace_id, device, launch_id
HAVING max(attentions) > 1;
