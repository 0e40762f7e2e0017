-- One row per mark of a pass boundary: what happens there more often than between two attentions of
-- one pass.
--
-- mark       VARCHAR  kernel category, or lookup, exchange, call, graph, step or pause; the key
-- weight     DOUBLE   weight of the mark; a boundary needs 4 in total
-- in_layers  BOOLEAN  some layers of a pass may have more of it than others, such as those with
--                     experts
-- comment    VARCHAR  why
CREATE TABLE pass_marks (
    mark VARCHAR PRIMARY KEY,
    weight DOUBLE NOT NULL,
    in_layers BOOLEAN NOT NULL DEFAULT FALSE,
    comment VARCHAR
);
