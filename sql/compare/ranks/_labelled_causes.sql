-- One row per device of a run and cause for which the others waited for it, with its label.
--
-- run        VARCHAR  run, or the trace's id where none was given
-- label      VARCHAR  what a chart calls the device
-- place      BIGINT   its place in the run, from 0
-- cause      VARCHAR  why it was late
-- waited_ms  DOUBLE   time that the others waited for it, ms
CREATE VIEW _labelled_causes AS
SELECT
    waits.run, labels.label, labels.place, waits.cause,
    sum(waits.others_waited_us) / 1000 AS waited_ms
FROM rank_waits AS waits
JOIN _rank_labels AS labels ON labels.trace_id = waits.trace_id AND labels.device = waits.device
WHERE waits.cause IS NOT NULL
GROUP BY waits.run, labels.label, labels.place, waits.cause;
