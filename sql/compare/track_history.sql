-- The verdict on a change as a whole, from those of its measures and the reasons why it cannot be
-- judged: unknown if it cannot.
CREATE MACRO _gate_status(verdicts, reasons) AS CASE
    WHEN list_has_any(reasons, ['different work', 'nothing to measure']) THEN 'unknown'
    WHEN list_contains(verdicts, 'fail') THEN 'fail'
    WHEN len(reasons) > 0 OR list_contains(verdicts, 'unknown') OR len(verdicts) = 0 THEN 'unknown'
    WHEN list_contains(verdicts, 'warn') THEN 'warn'
    ELSE 'pass'
END;

-- One row per trace with a baseline (`tracelake set TRACE baseline=OTHER`): whether it passed. The
-- lake is the history: verdicts are recomputed when thresholds change.
--
-- key: trace_id
--
-- trace_id               VARCHAR    trace
-- trace                  VARCHAR    its name
-- run                    VARCHAR    its run
-- ingested_at            TIMESTAMP  when it came into the lake
-- baseline               VARCHAR    baseline as given
-- baseline_id            VARCHAR    that trace, NULL if the lake has no trace of that name, or
--                                   several
-- status                 VARCHAR    pass, warn or fail; unknown without the baseline, if the two
--                                   are one trace, or if the gate cannot judge, see doubts
-- failures               VARCHAR[]  measures that fail; parts of the step with their names
-- warnings               VARCHAR[]  measures that warn
-- doubts                 VARCHAR[]  reasons why the gate cannot judge, see gate_doubts
-- step_median_us         DOUBLE     median of the steady steps, µs
-- step_median_pct        DOUBLE     its change from the baseline, %
-- step_p90_pct           DOUBLE     change of the 90th percentile, %
-- communication_points   DOUBLE     change of the share of exposed communication, percentage points
-- idle_points            DOUBLE     change of the share of idle time, percentage points
CREATE VIEW track_history AS
WITH given AS (
    SELECT tags.trace_id, tags.value AS baseline
    FROM tags
    WHERE tags.key = 'baseline'
),
sought AS (
    SELECT
        given.trace_id, given.baseline,
        CASE WHEN count(others.trace_id) = 1 THEN any_value(others.trace_id) END AS baseline_id
    FROM given
    LEFT JOIN traces AS others ON given.baseline IN (others.trace, others.trace_id)
    GROUP BY given.trace_id, given.baseline
),
compared AS (
    SELECT trace_id, baseline, baseline_id
    FROM sought
    WHERE trace_id <> baseline_id
),
judged AS (
    SELECT
        trace_id, list(verdict) AS verdicts,
        list(concat_ws(' ', metric, part) ORDER BY metric, part) FILTER (verdict = 'fail')
            AS failures,
        list(concat_ws(' ', metric, part) ORDER BY metric, part) FILTER (verdict = 'warn')
            AS warnings,
        max(after) FILTER (metric = 'step_median' AND part IS NULL)
            AS step_median_us,
        max(change) FILTER (metric = 'step_median' AND part IS NULL)
            AS step_median_pct,
        max(change) FILTER (metric = 'step_p90') AS step_p90_pct,
        max(change) FILTER (metric = 'communication_share') AS communication_points,
        max(change) FILTER (metric = 'idle_share') AS idle_points
    FROM compared
    JOIN comparison_bases AS own USING (trace_id)
    JOIN comparison_bases AS other ON other.trace_id = compared.baseline_id
    JOIN _gated ON before_id = compared.baseline_id AND after_id = compared.trace_id
    WHERE own.basis = other.basis
    GROUP BY trace_id
),
doubted AS (
    SELECT
        trace_id, list(reason ORDER BY reason, side) AS reasons,
        list(concat(reason, ': ', message) ORDER BY reason, side) AS doubts
    FROM compared
    JOIN _gate_doubts ON before_id = compared.baseline_id AND after_id = compared.trace_id
    GROUP BY trace_id
)
SELECT
    sought.trace_id, traces.trace, traces.run, traces.ingested_at, sought.baseline,
    sought.baseline_id,
    CASE
        WHEN compared.trace_id IS NULL THEN 'unknown'
        ELSE _gate_status(coalesce(judged.verdicts, []), coalesce(doubted.reasons, []))
    END AS status,
    coalesce(failures, []) AS failures, coalesce(warnings, []) AS warnings,
    coalesce(doubts, []) AS doubts, step_median_us,
    step_median_pct, step_p90_pct, communication_points, idle_points
FROM sought
JOIN traces ON traces.trace_id = sought.trace_id
LEFT JOIN compared ON compared.trace_id = sought.trace_id
LEFT JOIN judged ON judged.trace_id = sought.trace_id
LEFT JOIN doubted ON doubted.trace_id = sought.trace_id;
