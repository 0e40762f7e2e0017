-- One row per column that a model report prints: its heading, with the unit, and how it is written.
--
-- column_name  VARCHAR  name of the column in the relations; the key
-- heading      VARCHAR  what the report calls it
-- unit         VARCHAR  what its numbers count; NULL for words
-- format       VARCHAR  words, count, number (four figures), giga (in 1e9), tera (in 1e12),
--                       per_cent (a fraction), points (already in %), factor, yes_no or
--                       flag: yes_no of which no stands out
CREATE TABLE report_columns (
    column_name VARCHAR PRIMARY KEY,
    heading VARCHAR NOT NULL,
    unit VARCHAR,
    format VARCHAR NOT NULL
);
