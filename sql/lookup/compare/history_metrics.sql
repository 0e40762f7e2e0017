-- One row per metric of which a trace has one value: the metrics of a history.
--
-- metric   VARCHAR  name; the key
-- unit     VARCHAR  unit, the end of the name
-- source   VARCHAR  measure that it is computed from
-- scale    DOUBLE   factor for that measure
-- rise     VARCHAR  word for an increase
-- fall     VARCHAR  word for a decrease
-- meaning  VARCHAR  what it measures
CREATE TABLE history_metrics (
    metric VARCHAR PRIMARY KEY,
    unit VARCHAR NOT NULL,
    source VARCHAR NOT NULL,
    scale DOUBLE NOT NULL,
    rise VARCHAR NOT NULL,
    fall VARCHAR NOT NULL,
    meaning VARCHAR NOT NULL
);
