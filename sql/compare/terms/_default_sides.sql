-- One row per trace with the side that it is on where no sides are given: its run, else its name;
-- its id where other traces have the name too.
--
-- trace_id  VARCHAR  trace
-- trace     VARCHAR  its name
-- run       VARCHAR  its run, NULL if it is of none
-- side      VARCHAR  side
CREATE VIEW _default_sides AS
SELECT
    trace_id, trace, run,
    coalesce(run, if(count(*) OVER (PARTITION BY trace) = 1, trace, NULL), trace_id) AS side
FROM traces;
