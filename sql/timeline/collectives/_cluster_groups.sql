-- One row per group of ranks that a cluster's communication.json lists in a trace.
--
-- stored: per ascend trace
--
-- trace_id    VARCHAR  trace
-- comm_group  VARCHAR  group of ranks, by its number in the file
-- ranks       BIGINT   ranks in it
CREATE VIEW _cluster_groups AS
SELECT trace_id, comm_group, max(len(string_split(ranks, ','))) AS ranks
FROM communication_ops
WHERE ranks IS NOT NULL
GROUP BY trace_id, comm_group;
