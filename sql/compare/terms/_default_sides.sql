-- One row per trace with its side if no sides are given: its run, else its name, or its id if other
-- traces have the same name.
--
-- trace_id  VARCHAR  trace
-- trace     VARCHAR  its name
-- run       VARCHAR  its run, NULL if it has none
-- side      VARCHAR  side
CREATE VIEW _default_sides AS
SELECT
    trace_id, trace, run,
    coalesce(run, if(count(*) OVER (PARTITION BY trace) = 1, trace, NULL), trace_id) AS side
FROM traces;
