-- One row per measure of the work in one steady step of two traces, or in the whole trace where
-- they have none: whether both do the same. Times of different work can be looked at, but not
-- gated.
--
-- `FROM work_changes(before, after)` with the ids of two traces. How much a measure may differ is
-- in the table work_tolerances.
--
-- measure  VARCHAR  basis: what the measures of the trace are taken per, see comparison_bases;
--                   devices; requests and tokens of a step, as its annotation or its pass has them;
--                   product FLOP: of the matrix products on one device, where those of all of them
--                   are known; operations: on one device
-- before   VARCHAR  of the first trace, NULL if unknown
-- after    VARCHAR  of the second trace, NULL if unknown
-- ratio    DOUBLE   after by before
-- verdict  VARCHAR  same, different, unknown (a side is), or info: what may differ
CREATE MACRO work_changes(of_before, of_after) AS TABLE
SELECT measure, before, after, ratio, verdict
FROM _work_pairs
WHERE before_id = of_before AND after_id = of_after
ORDER BY list_position([
    'basis', 'devices', 'requests', 'tokens', 'product FLOP', 'operations'
], measure);
