-- The verdict on a change as a whole, of those of its measures and the reasons that stand against
-- any: unknown where it cannot be judged.
CREATE MACRO _gate_status(verdicts, reasons) AS CASE
    WHEN list_has_any(reasons, ['different work', 'nothing to measure']) THEN 'unknown'
    WHEN list_contains(verdicts, 'fail') THEN 'fail'
    WHEN len(reasons) > 0 OR list_contains(verdicts, 'unknown') OR len(verdicts) = 0 THEN 'unknown'
    WHEN list_contains(verdicts, 'warn') THEN 'warn'
    ELSE 'pass'
END;
