-- One row per column that a model report prints: its heading, unit and format.
--
-- column_name  VARCHAR  name of the column in the relations; the key
-- heading      VARCHAR  its heading in the report
-- unit         VARCHAR  unit of its numbers; NULL for words
-- format       VARCHAR  words, count, number (four figures), giga (in 1e9), tera (in 1e12),
--                       per_cent (a fraction), points (already in %), factor, yes_no or
--                       flag: yes_no with "no" highlighted
CREATE TABLE report_columns (
    column_name VARCHAR PRIMARY KEY,
    heading VARCHAR NOT NULL,
    unit VARCHAR,
    format VARCHAR NOT NULL
);
