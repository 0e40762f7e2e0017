-- One row per measure that gates a change: the worsening from which it counts.
--
-- metric     VARCHAR  measure, as in gated_changes; the key
-- threshold  DOUBLE   the change above which the verdict is not pass: percent of a time, percentage
--                     points of a share
-- verdict    VARCHAR  fail or warn
-- least_pct  DOUBLE   for parts of a step, the smallest worsening that counts: percent of the time
--                     in which any operation runs, for idle time percent of the step's time
-- comment    VARCHAR  unit of the threshold
CREATE TABLE gate_rules (
    metric VARCHAR PRIMARY KEY,
    threshold DOUBLE NOT NULL,
    verdict VARCHAR NOT NULL,
    least_pct DOUBLE,
    comment VARCHAR
);
