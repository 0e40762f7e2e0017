-- One row per optimisation candidate of the reference's profile summary, its errors included.
-- Provided for comparison with findings, which is the relation to use.
--
-- `FROM compat_candidates(trace_id, mode, warm-up)`: mode exclusive_per_track or
-- exclusive_global.
--
-- place        INTEGER    order
-- candidate    VARCHAR    its id
-- title        VARCHAR    its title
-- value        DOUBLE     measured value: a share of the mode's total, or a ratio
-- evidence     VARCHAR[]  the figures in words
-- suggestions  VARCHAR[]  what to try
CREATE MACRO compat_candidates(of_trace, of_mode, of_warm_up) AS TABLE
WITH shares AS (
    SELECT
        coalesce(nullif(sum(total_us), 0), 1) AS whole_us,
        sum(share) FILTER (category = 'communication') AS communication,
        sum(share) FILTER (category = 'stall') AS stall,
        sum(share) FILTER (category = 'compute') AS compute,
        sum(share) FILTER (category = 'host') AS host
    FROM compat_time_breakdown
    WHERE trace_id = of_trace AND mode = of_mode
),
measured AS (
    SELECT
        'communication-heavy' AS candidate, communication AS value, NULL AS other,
        [
            format('communication: {:.1f} %', 100 * communication),
            'largest collective: ' || coalesce(collectives.kind, 'none')
        ] AS evidence
    FROM shares
    LEFT JOIN compat_collectives AS collectives
        ON collectives.trace_id = of_trace AND collectives.place = 1
    UNION ALL
    SELECT 'stall-heavy', stall, NULL, [format('stall: {:.1f} %', 100 * stall)]
    FROM shares
    UNION ALL
    SELECT
        'single-hot-op', exclusive_us / whole_us, NULL,
        [
            'operation: ' || name, format('exclusive: {:.3f}', exclusive_us),
            format('share: {:.1f} %', 100 * exclusive_us / whole_us)
        ]
    FROM compat_ops
    CROSS JOIN shares
    WHERE trace_id = of_trace AND place = 1
    UNION ALL
    SELECT
        'pre-op-gap', total_us / whole_us, max_us,
        [
            'payload: ' || payload_name, 'marker: ' || marker_name,
            format('total: {:.3f}', total_us), format('longest: {:.3f}', max_us),
            format('occurrences: {}', gaps)
        ]
    FROM compat_gaps
    CROSS JOIN shares
    WHERE trace_id = of_trace AND place = 1 AND total_us > 0
    UNION ALL
    SELECT
        'step-jitter', p90_us / nullif(median_us, 0), NULL,
        [
            format('median: {:.3f}', median_us), format('p90: {:.3f}', p90_us),
            format('ratio: {:.2f}', p90_us / nullif(median_us, 0))
        ]
    FROM compat_step_stats(of_trace, of_warm_up)
    WHERE scope = 'steady' AND steps >= 4
),
made AS (
    SELECT rules.place, candidate, title, value, evidence, suggestions
    FROM measured
    JOIN compat_candidate_rules AS rules USING (candidate)
    WHERE value >= threshold OR other >= alternative
)
SELECT place, candidate, title, value, evidence, string_split(suggestions, '|') AS suggestions
FROM made
UNION ALL
SELECT
    place, candidate, title, CAST(NULL AS DOUBLE),
    [
        format('compute: {:.1f} %', 100 * compute),
        format('communication: {:.1f} %', 100 * communication),
        format('host: {:.1f} %', 100 * host), format('stall: {:.1f} %', 100 * stall)
    ],
    string_split(suggestions, '|')
FROM compat_candidate_rules
CROSS JOIN shares
WHERE candidate = 'no-dominant-bottleneck' AND (SELECT count(*) FROM made) = 0;
