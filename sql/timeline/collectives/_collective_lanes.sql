-- One row per operation of a collective that has no stream: a number of its group of ranks, below
-- -1. One group runs one after the other, several do not.
--
-- trace_id   VARCHAR  trace
-- kernel_id  BIGINT   event_id of the operation
-- lane       BIGINT   the number
CREATE VIEW _collective_lanes AS
SELECT
    trace_id, kernel_id,
    -1 - dense_rank() OVER (PARTITION BY trace_id, device ORDER BY process_group) AS lane
FROM _collective_parts
WHERE role = 'op' AND stream IS NULL;
