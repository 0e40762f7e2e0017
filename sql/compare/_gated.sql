-- One row per pair of traces and part of a step that got slower by more than its rule allows. All
-- pairs of the lake's traces: filter by id.
CREATE VIEW _gated_parts AS
WITH wholes AS (
    SELECT trace_id, metric, any_value(whole) AS whole
    FROM _gate_parts
    GROUP BY trace_id, metric
),
paired AS (
    -- An operation that only the second trace has may be renamed: its family decides. Where time
    -- only moved to a part, the whole hardly grows: it must by more than half as much as the part.
    SELECT
        wholes.trace_id AS before_id, a.trace_id AS after_id, metric, a.part,
        coalesce(b.value, 0) AS before, a.value AS after, threshold, verdict,
        coalesce(least_pct, 0) * wholes.whole / 100 AS least_us,
        a.whole - wholes.whole > 0.5 * (a.value - coalesce(b.value, 0)) AS is_slower,
        CASE
            WHEN b.trace_id IS NULL THEN a.spread[1]
            ELSE _change_noise(a.value - b.value, b.spread, a.spread)
        END AS noise_us
    FROM _gate_parts AS a
    JOIN wholes USING (metric)
    JOIN gate_rules USING (metric)
    LEFT JOIN _gate_parts AS b
        ON b.trace_id = wholes.trace_id AND b.metric = a.metric AND b.part = a.part
    WHERE b.trace_id IS NOT NULL OR metric = 'family'
)
SELECT
    before_id, after_id, metric, part, before, after,
    100 * (after - before) / nullif(before, 0) AS change, threshold,
    100 * noise_us / nullif(before, 0) AS noise,
    CASE
        WHEN after - before <= noise_us THEN 'noise'
        WHEN is_slower THEN verdict
        ELSE 'warn'
    END AS verdict
FROM paired
WHERE after - before > greatest(threshold * before / 100, least_us);

-- One row per pair of traces and measure that gates a change, with its verdict. All pairs of the
-- lake's traces: filter by id.
--
-- before_id  VARCHAR  first trace
-- after_id   VARCHAR  second trace
-- metric     VARCHAR  measure
-- part       VARCHAR  part of the step; for step_median also another program, whose own steps are
--                     judged; NULL for measures of the whole
-- before     DOUBLE   of the first trace
-- after      DOUBLE   of the second trace
-- change     DOUBLE   for times in percent, NULL if the first is not above 0; for shares after
--                     minus before, percentage points
-- threshold  DOUBLE   the change above which the verdict is not pass
-- noise      DOUBLE   the change that chance can explain (_change_noise), in the unit of change;
--                     NULL if a trace has fewer than three steps, or periods for period_median,
--                     unless the part is new in the second trace: from the spread of that one
-- verdict    VARCHAR  pass, noise (above the threshold and within the noise), warn or fail; unknown
--                     if a side has no value
CREATE VIEW _gated AS
WITH changes AS (
    SELECT
        b.trace_id AS before_id, a.trace_id AS after_id, metric, CAST(NULL AS VARCHAR) AS part,
        b.value AS before, a.value AS after, threshold, verdict,
        CASE
            WHEN ends_with(metric, '_share') THEN a.value - b.value
            WHEN b.value > 0 THEN 100 * (a.value - b.value) / b.value
        END AS change,
        _change_noise(a.value - b.value, b.spread, a.spread)
            * CASE WHEN ends_with(metric, '_share') THEN 1 ELSE 100 / nullif(b.value, 0) END
            AS noise
    FROM _gate_values AS b
    JOIN _gate_values AS a USING (metric)
    JOIN gate_rules USING (metric)
    UNION ALL
    SELECT
        before_id, after_id, metric, program, before, after, threshold, verdict,
        100 * (after - before) / before, 100 * noise / before
    FROM _program_pairs
    JOIN gate_rules ON metric = 'step_median'
    WHERE doubt IS NULL
)
SELECT
    before_id, after_id, metric, part, before, after, change, threshold, noise,
    CASE
        WHEN change IS NULL THEN 'unknown'
        WHEN change > threshold AND change <= noise THEN 'noise'
        WHEN change > threshold THEN verdict
        ELSE 'pass'
    END AS verdict
FROM changes
-- Not all steps have these.
WHERE metric NOT IN ('compute_median', 'period_median') OR change IS NOT NULL
UNION ALL
SELECT
    before_id, after_id, metric, part, before, after, change, threshold, noise, verdict
FROM _gated_parts;
