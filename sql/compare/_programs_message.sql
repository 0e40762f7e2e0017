-- How many steps of a trace, or of a side, are compared, and which are not; NULL if these take less
-- than 1 % of the steps' time.
--
-- steps        steady steps that are compared
-- other_steps  steady steps of other programs
-- program      what the compared ones run
-- pct          share of the steps' time that these take, %
-- others       the other programs, with their steps, as text
CREATE MACRO _programs_message(steps, other_steps, program, pct, others) AS CASE
    WHEN pct <= 99 THEN format(
        '{} of {} steady steps are compared, those of {} ({:.1f} % of the steps'' time), not {}',
        steps, steps + other_steps, coalesce(program, 'no name'), pct, others
    )
END;
