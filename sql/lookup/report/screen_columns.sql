-- One row per column of an answer: how a table on a terminal shows it.
--
-- column    VARCHAR  name of the column; the key
-- priority  INTEGER  from 1: on a narrow terminal, columns with the highest number are dropped
--                    first, those with 1 never; 5 for a column without a row
-- kind      VARCHAR  id (never cut), name (cut in the middle), prose (wrapped), share (percent of a
--                    whole, drawn as a bar), size (drawn as a bar up to the largest), state (a
--                    coloured word), mixed (numbers of different units) or nothing
-- comment   VARCHAR  why
CREATE TABLE screen_columns (
    "column" VARCHAR PRIMARY KEY,
    priority INTEGER NOT NULL,
    kind VARCHAR,
    comment VARCHAR
);
