-- One row per metric that a trace has one value of: what a history is made of.
--
-- metric   VARCHAR  name; the key
-- unit     VARCHAR  unit, the end of the name
-- source   VARCHAR  measure that it is made from
-- scale    DOUBLE   what that is to be multiplied by
-- rise     VARCHAR  what a rise of it is called
-- fall     VARCHAR  what a fall of it is called
-- meaning  VARCHAR  what it is of a trace
CREATE TABLE history_metrics (
    metric VARCHAR PRIMARY KEY,
    unit VARCHAR NOT NULL,
    source VARCHAR NOT NULL,
    scale DOUBLE NOT NULL,
    rise VARCHAR NOT NULL,
    fall VARCHAR NOT NULL,
    meaning VARCHAR NOT NULL
);
