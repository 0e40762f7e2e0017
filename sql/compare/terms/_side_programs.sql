-- One row per side of a comparison with steps of other programs than the compared one.
--
-- side     VARCHAR  side
-- message  VARCHAR  how many of its steps are compared, and which are not (_programs_message)
CREATE VIEW _side_programs AS
WITH counted AS (
    SELECT side, program, CAST(sum(steps) AS BIGINT) AS steps
    FROM _other_programs
    JOIN comparison_sides USING (trace_id)
    GROUP BY side, program
),
others AS (
    SELECT
        side,
        string_agg(format('{} of {}', steps, program), ', ' ORDER BY steps DESC, program) AS others
    FROM counted
    GROUP BY side
)
SELECT
    side,
    _programs_message(
        CAST(sum(steps) AS BIGINT), CAST(sum(other_steps) AS BIGINT),
        string_agg(DISTINCT program, ' and ' ORDER BY program), avg(program_pct),
        any_value(others)
    ) AS message
FROM others
JOIN comparison_sides USING (side)
JOIN comparison_bases USING (trace_id)
GROUP BY side;
