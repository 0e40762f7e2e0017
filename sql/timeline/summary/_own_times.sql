-- One row per trace with device operations: the sum of their own times.
-- trace_id  VARCHAR  trace
-- own_us    DOUBLE   sum of their times without operations inside
CREATE VIEW _own_times AS
SELECT trace_id, sum(self_us) AS own_us
FROM ops
WHERE role = 'op'
GROUP BY trace_id;
