-- One row per trace of a run and other trace of it where a cluster's communication.json lists the
-- groups of ranks.
-- trace_id        VARCHAR  trace
-- other_trace_id  VARCHAR  trace with the list
CREATE VIEW _cluster_links AS
SELECT DISTINCT traces.trace_id, listing.trace_id AS other_trace_id
FROM _cluster_groups
JOIN traces AS listing USING (trace_id)
JOIN traces ON traces.run = listing.run
WHERE traces.format = 'ascend' AND traces.trace_id != listing.trace_id;
