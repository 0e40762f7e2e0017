-- One row per mark of the place between two passes: what happens there more often than between two
-- attentions of one pass.
--
-- mark       VARCHAR  kernel category, or lookup, exchange, call, graph, step or pause; the key
-- weight     DOUBLE   what the mark counts; the place needs 4 in all
-- in_layers  BOOLEAN  some layers of a pass may have more of it than others, as those with experts
-- comment    VARCHAR  why
CREATE TABLE pass_marks (
    mark VARCHAR PRIMARY KEY,
    weight DOUBLE NOT NULL,
    in_layers BOOLEAN NOT NULL DEFAULT FALSE,
    comment VARCHAR
);
