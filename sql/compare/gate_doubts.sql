-- One row per reason why a gate cannot judge the change from one trace to another; none where it
-- can. With one of them a change never passes. With one step, or no work in some, it still fails
-- where a measure of gated_changes does: a single step shows a regression, but not that there is
-- none. If the work differs, neither can be decided.
--
-- `FROM gate_doubts(before, after)` with the ids of two traces.
--
-- reason   VARCHAR  nothing to measure (no device operation takes time), no work in a step (to some
--                   steady steps no device operation belongs), different work (see work_changes) or
--                   one step (also of a trace without steps, whose whole is measured)
-- side     VARCHAR  before, after or both: the trace, or traces, for which it holds
-- message  VARCHAR  what was found
CREATE MACRO gate_doubts(of_before, of_after) AS TABLE
SELECT reason, side, message
FROM _gate_doubts
WHERE before_id = of_before AND after_id = of_after
ORDER BY
    list_position(
        ['nothing to measure', 'different work', 'no work in a step', 'one step'], reason
    ),
    side DESC;
