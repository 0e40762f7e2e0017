-- One row per side of a comparison and trace of it: those of given_sides, else the runs, and traces
-- without a run, that have a baseline set (`tracelake set TRACE baseline=OTHER`), and those
-- baselines.
--
-- key: side, trace_id
--
-- side      VARCHAR  name of the side; a run, or a trace without one, if no sides are given
-- trace_id  VARCHAR  trace
-- trace     VARCHAR  its name
-- unit      VARCHAR  the replicate: the trace's run, else the trace. Ranks of a run are measured
--                    together, runs are independent
CREATE VIEW comparison_sides AS
SELECT DISTINCT given.side, own.trace_id, own.trace, coalesce(own.run, own.trace_id) AS unit
FROM given_sides AS given
JOIN _default_sides AS own ON given.trace IN (own.trace_id, own.trace)
UNION ALL
SELECT own.side, own.trace_id, own.trace, coalesce(own.run, own.trace_id)
FROM _default_sides AS own
WHERE
    (SELECT count(*) FROM given_sides) = 0
    AND own.side IN (
        SELECT side FROM _comparison_pairs UNION ALL SELECT baseline FROM _comparison_pairs
    );
