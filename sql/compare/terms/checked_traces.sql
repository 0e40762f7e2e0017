-- One row per trace that budgets apply to: those of the given sides except the baseline; all traces
-- of the lake if no sides are given.
--
-- key: trace_id
--
-- trace_id  VARCHAR  trace
-- trace     VARCHAR  its name
-- run       VARCHAR  its run, NULL if it has none
CREATE VIEW checked_traces AS
SELECT trace_id, trace, run
FROM traces
WHERE
    (SELECT count(*) FROM given_sides) = 0
    OR trace_id IN (
        SELECT trace_id
        FROM comparison_sides AS own
        JOIN given_sides AS given ON given.side = own.side
        WHERE given.place > 0
    );
