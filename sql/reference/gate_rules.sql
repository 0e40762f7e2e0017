-- One row per measure that gates a change: from which worsening on it counts.
--
-- metric     VARCHAR  measure, as in gated_changes; the key
-- threshold  DOUBLE   the change above which the verdict is not pass: percent of a time, percentage
--                     points of a share
-- verdict    VARCHAR  fail or warn
-- comment    VARCHAR  unit of the threshold
CREATE TABLE gate_rules (
    metric VARCHAR PRIMARY KEY,
    threshold DOUBLE NOT NULL,
    verdict VARCHAR NOT NULL,
    comment VARCHAR
);
