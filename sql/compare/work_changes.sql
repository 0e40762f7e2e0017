-- One row per measure of the work in one steady step of two traces, or in the whole trace if they
-- have none: whether both do the same. Times of different work can be inspected, but not gated.
--
-- `FROM work_changes(before, after)` with the ids of two traces. How much a measure may differ is
-- in the table work_tolerances.
--
-- measure  VARCHAR  basis: unit that the trace's measures are per, see comparison_bases; devices;
--                   requests and tokens of a step, from its annotation or its pass; product FLOP:
--                   of the matrix products on one device, if all are known; operations: on one
--                   device
-- before   VARCHAR  of the first trace, NULL if unknown
-- after    VARCHAR  of the second trace, NULL if unknown
-- ratio    DOUBLE   after over before
-- verdict  VARCHAR  same, different, unknown (on either side), or info: may differ
CREATE MACRO work_changes(of_before, of_after) AS TABLE
SELECT measure, before, after, ratio, verdict
FROM _work_pairs
WHERE before_id = of_before AND after_id = of_after
ORDER BY list_position([
    'basis', 'devices', 'requests', 'tokens', 'product FLOP', 'operations'
], measure);
