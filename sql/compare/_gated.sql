-- One row per pair of traces and measure that gates a change, with its verdict. Pairs are all of
-- the lake: ask for some.
--
-- before_id  VARCHAR  first trace
-- after_id   VARCHAR  second trace
-- metric     VARCHAR  measure
-- before     DOUBLE   of the first trace
-- after      DOUBLE   of the second trace
-- change     DOUBLE   of times in percent, NULL where the first is not above 0; of shares after
--                     minus before, percentage points
-- threshold  DOUBLE   the change above which the verdict is not pass
-- noise      DOUBLE   how much the steps of the noisier trace differ, in the unit of change; NULL
--                     where a trace has less than three
-- verdict    VARCHAR  pass, noise (above the threshold and within the noise), warn or fail; unknown
--                     where a side has no value
CREATE VIEW _gated AS
WITH changes AS (
    SELECT
        b.trace_id AS before_id, a.trace_id AS after_id, metric, b.value AS before,
        a.value AS after, threshold, verdict,
        CASE
            WHEN ends_with(metric, '_share') THEN a.value - b.value
            WHEN b.value > 0 THEN 100 * (a.value - b.value) / b.value
        END AS change,
        CASE
            WHEN b.spread + a.spread IS NOT NULL THEN greatest(b.spread, a.spread)
                * CASE WHEN ends_with(metric, '_share') THEN 1 ELSE 100 / nullif(b.value, 0) END
        END AS noise
    FROM _gate_values AS b
    JOIN _gate_values AS a USING (metric)
    JOIN gate_rules USING (metric)
)
SELECT
    before_id, after_id, metric, before, after, change, threshold, noise,
    CASE
        WHEN change IS NULL THEN 'unknown'
        WHEN change > threshold AND change <= noise THEN 'noise'
        WHEN change > threshold THEN verdict
        ELSE 'pass'
    END AS verdict
FROM changes
-- Not every step has these.
WHERE metric NOT IN ('compute_median', 'period_median') OR change IS NOT NULL;
