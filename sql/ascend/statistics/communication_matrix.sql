-- One row per collective and pair of ranks of communication_matrix.json: the data that one sent the
-- other.
--
-- key: trace_id, step?, op_kind?, op, comm_group?, source_rank, target_rank
--
-- trace_id        VARCHAR  trace
-- step            VARCHAR  step, as the file names it
-- op_kind         VARCHAR  collective or p2p
-- op              VARCHAR  name of the call, or of the calls the file sums up
-- comm_group      VARCHAR  group of ranks, by its number in the file
-- source_rank     INTEGER  rank that sent
-- target_rank     INTEGER  rank that received
-- transport       VARCHAR  LOCAL, HCCS, PCIE, RDMA or SIO
-- size_mb         DOUBLE   data moved, MB
-- transit_ms      DOUBLE   time it moved, ms
-- bandwidth_gbps  DOUBLE   bandwidth, GB/s
CREATE VIEW communication_matrix AS
SELECT
    trace_id,
    args ->> '$.step' AS step,
    args ->> '$.kind' AS op_kind,
    args ->> '$.op' AS op,
    args ->> '$.group' AS comm_group,
    TRY_CAST(split_part(args ->> '$.link', '-', 1) AS INTEGER) AS source_rank,
    TRY_CAST(split_part(args ->> '$.link', '-', 2) AS INTEGER) AS target_rank,
    args ->> '$."Transport Type"' AS transport,
    TRY_CAST(args ->> '$."Transit Size(MB)"' AS DOUBLE) AS size_mb,
    TRY_CAST(args ->> '$."Transit Time(ms)"' AS DOUBLE) AS transit_ms,
    TRY_CAST(args ->> '$."Bandwidth(GB/s)"' AS DOUBLE) AS bandwidth_gbps
FROM events
WHERE
    lane = 'meta' AND name = 'communication_matrix'
    AND NOT starts_with(coalesce(args ->> '$.op', ''), 'Total Op Info');
