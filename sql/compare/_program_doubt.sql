-- Why the step times of a program in two traces, or on two sides, cannot be compared, in words that
-- follow its name; NULL if they can. Noise takes three steps, and steps of other work have other
-- times.
--
-- before  a struct of steps, requests and tokens; NULL without such a step
-- after   and of the second trace
CREATE MACRO _program_doubt(before, after) AS CASE
    WHEN before.steps IS NULL THEN 'has steady steps only after'
    WHEN after.steps IS NULL THEN 'has steady steps only before'
    WHEN least(before.steps, after.steps) < 3 THEN 'has fewer than three steady steps'
    WHEN
        100 * abs(before.requests - after.requests) > greatest(before.requests, after.requests)
        * (SELECT tolerance_pct FROM work_tolerances WHERE measure = 'requests')
        THEN format('does different work: requests {:.6g}, {:.6g}', before.requests, after.requests)
    WHEN
        100 * abs(before.tokens - after.tokens) > greatest(before.tokens, after.tokens)
        * (SELECT tolerance_pct FROM work_tolerances WHERE measure = 'tokens')
        THEN format('does different work: tokens {:.6g}, {:.6g}', before.tokens, after.tokens)
END;
