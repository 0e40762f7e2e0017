-- One row per pair of traces and program that neither is compared by: the time of its steps in
-- both. All pairs of the lake's traces: filter by id.
--
-- before_id   VARCHAR  first trace
-- after_id    VARCHAR  second trace
-- program     VARCHAR  program
-- before      DOUBLE   median time of its steady steps in the first trace, µs; NULL without one
-- after       DOUBLE   in the second, µs
-- noise       DOUBLE   the change that chance can explain (_change_noise), µs
-- before_pct  DOUBLE   share of the steady steps' time of the first trace, %
-- after_pct   DOUBLE   of the second, %
-- doubt       VARCHAR  why the two cannot be compared (_program_doubt), NULL if they can
CREATE VIEW _program_pairs AS
WITH pairs AS (
    SELECT b.trace_id AS before_id, a.trace_id AS after_id, program
    FROM _other_programs AS b
    CROSS JOIN traces AS a
    UNION
    SELECT b.trace_id, a.trace_id, program
    FROM _other_programs AS a
    CROSS JOIN traces AS b
)
SELECT
    before_id, after_id, pairs.program, b.step_us AS before, a.step_us AS after,
    _change_noise(a.step_us - b.step_us, b.spread, a.spread) AS noise,
    coalesce(b.time_pct, 0) AS before_pct, coalesce(a.time_pct, 0) AS after_pct,
    _program_doubt(
        {'steps': b.steps, 'requests': b.requests, 'tokens': b.tokens},
        {'steps': a.steps, 'requests': a.requests, 'tokens': a.tokens}
    ) AS doubt
FROM pairs
LEFT JOIN _other_programs AS b ON b.trace_id = before_id AND b.program = pairs.program
LEFT JOIN _other_programs AS a ON a.trace_id = after_id AND a.program = pairs.program
LEFT JOIN comparison_bases AS of_before ON of_before.trace_id = before_id
LEFT JOIN comparison_bases AS of_after ON of_after.trace_id = after_id
WHERE
    pairs.program IS DISTINCT FROM of_before.program
    AND pairs.program IS DISTINCT FROM of_after.program;
