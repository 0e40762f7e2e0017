-- One row per what-if of a model report: a knob turned to one side, in one phase.
--
-- title       VARCHAR  the knob, in words
-- side        VARCHAR  low or high
-- setting     VARCHAR  what it is set to, in words
-- phase       VARCHAR  training, prefill or decode
-- time_ms     DOUBLE   the largest of the three, ms
-- bound       VARCHAR  compute, memory or network
-- fits        BOOLEAN  whether what is held fits the memory
-- anchor_ms   DOUBLE   time at the anchor, ms
-- change_pct  DOUBLE   change of the time, %
CREATE VIEW _report_turned AS
SELECT
    r.title, r.side, r.setting, p.phase, p.time_ms, p.bound, p.fits, a.time_ms AS anchor_ms,
    100 * (p.time_ms / a.time_ms - 1) AS change_pct
FROM _report_points AS p
JOIN report_steps AS r
    ON p.scenario = concat_ws(' / ', 'report knobs', p.phase, r.knob, r.side)
JOIN _report_points AS a ON a.phase = p.phase AND a.study = 'report anchor' AND a.is_main;
