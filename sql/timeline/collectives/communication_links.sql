-- One row per collective, rank and class of links of communication.json: how much went over it, and
-- how fast.
--
-- key: trace_id, event_id, link
--
-- trace_id            VARCHAR  trace
-- event_id            BIGINT   row of the file, as in communication_ops
-- rank                INTEGER  rank in a cluster's file, else the trace's
-- op                  VARCHAR  name of the call
-- comm_group          VARCHAR  group of ranks, by its number in the file
-- link                VARCHAR  RDMA, HCCS, PCIE, SDMA or SIO
-- size_mb             DOUBLE   data moved, MB
-- transit_ms          DOUBLE   time it moved, ms
-- bandwidth_gbps      DOUBLE   bandwidth, GB/s
-- large_packet_ratio  DOUBLE   share of packets that are large
-- packets             DOUBLE   packets, by the distribution of their sizes
-- smallest_mb         DOUBLE   smallest size of packets, MB
-- largest_mb          DOUBLE   largest, MB
CREATE VIEW communication_links AS
WITH listed AS (
    SELECT
        trace_id, event_id, TRY_CAST(args ->> '$.rank' AS INTEGER) AS rank, args ->> '$.op' AS op,
        args ->> '$.group' AS comm_group,
        unnest(map_entries(CAST((args -> '$.bandwidth') AS MAP(VARCHAR, JSON)))) AS entry
    FROM events
    WHERE
        lane = 'meta' AND name = 'communication'
        AND NOT starts_with(args ->> '$.op', 'Total Op Info')
),
typed AS (
    SELECT
        trace_id, event_id, rank, op, comm_group, entry.key AS link,
        TRY_CAST(entry.value ->> '$."Transit Size(MB)"' AS DOUBLE) AS size_mb,
        TRY_CAST(entry.value ->> '$."Transit Time(ms)"' AS DOUBLE) AS transit_ms,
        TRY_CAST(entry.value ->> '$."Bandwidth(GB/s)"' AS DOUBLE) AS bandwidth_gbps,
        TRY_CAST(entry.value ->> '$."Large Packet Ratio"' AS DOUBLE) AS large_packet_ratio,
        TRY_CAST(entry.value -> '$."Size Distribution"' AS MAP(VARCHAR, DOUBLE[])) AS sizes
    FROM listed
)
SELECT
    typed.trace_id, event_id, coalesce(typed.rank, traces.rank) AS rank, op, comm_group, link,
    size_mb, transit_ms, bandwidth_gbps, large_packet_ratio,
    coalesce(list_sum(list_transform(map_values(sizes), lambda pair: pair[1])), 0) AS packets,
    list_min(list_transform(map_keys(sizes), lambda size: TRY_CAST(size AS DOUBLE)))
        AS smallest_mb,
    list_max(list_transform(map_keys(sizes), lambda size: TRY_CAST(size AS DOUBLE)))
        AS largest_mb
FROM typed
JOIN traces ON traces.trace_id = typed.trace_id;
