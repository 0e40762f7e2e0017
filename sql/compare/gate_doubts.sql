-- One row per reason why a gate cannot judge the change from one trace to another; none if it can.
-- A change with a reason never passes. With one or two steps, steps without work, or work outside
-- steps, it still fails if a measure of gated_changes does: a single step can show a regression,
-- but cannot rule one out. If the work differs, neither can be decided.
--
-- `FROM gate_doubts(before, after)` with the ids of two traces.
--
-- reason   VARCHAR  nothing to measure (no device operation takes time), no work in a step (some
--                   steady steps have no device operations), work outside steps (half of the time
--                   of the device operations of either, the threshold of check_rules, belongs to no
--                   step; or such operations between steady steps take longer, by more of a step
--                   than step_median in gate_rules allows), different work (see work_changes),
--                   another program (one that neither trace is compared by takes a tenth of the
--                   steps' time of either or more, and its steps cannot be compared: on one side
--                   only, fewer than three, or other numbers of requests or tokens), one step
--                   (also for a trace without steps, which is measured as a whole) or two steps:
--                   noise is measured between three or more
-- side     VARCHAR  before, after or both: the trace or traces that it applies to
-- message  VARCHAR  what was found
CREATE MACRO gate_doubts(of_before, of_after) AS TABLE
SELECT reason, side, message
FROM _gate_doubts
WHERE before_id = of_before AND after_id = of_after
ORDER BY
    list_position(
        [
            'nothing to measure', 'different work', 'no work in a step', 'work outside steps',
            'another program', 'one step', 'two steps'
        ], reason
    ),
    side DESC;
