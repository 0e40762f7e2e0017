-- One row per phase and knob of a model report: the effect of turning it to either side.
--
-- title         VARCHAR  the knob, in words
-- phase         VARCHAR  training, prefill or decode
-- anchor_ms     DOUBLE   time at the anchor, ms
-- low_setting   VARCHAR  its low setting
-- low_ms        DOUBLE   time at it, ms
-- low_bound     VARCHAR  bound at it
-- high_setting  VARCHAR  its high setting
-- high_ms       DOUBLE   time at it, ms
-- high_bound    VARCHAR  bound at it
-- swing_pct     DOUBLE   longest over shortest time, % above 1
-- fits          BOOLEAN  whether what is held fits the memory
CREATE VIEW _report_knobs AS
SELECT
    title, phase, any_value(anchor_ms) AS anchor_ms,
    any_value(setting) FILTER (side = 'low') AS low_setting,
    any_value(time_ms) FILTER (side = 'low') AS low_ms,
    any_value(bound) FILTER (side = 'low') AS low_bound,
    any_value(setting) FILTER (side = 'high') AS high_setting,
    any_value(time_ms) FILTER (side = 'high') AS high_ms,
    any_value(bound) FILTER (side = 'high') AS high_bound,
    100 * (
        greatest(max(time_ms), any_value(anchor_ms)) / least(min(time_ms), any_value(anchor_ms)) - 1
    ) AS swing_pct,
    bool_and(fits) AS fits
FROM _report_turned
GROUP BY title, phase;
