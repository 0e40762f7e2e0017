-- One row per mark of the place between two passes: what happens there more often than between two
-- attentions of one pass.
--
-- mark     VARCHAR  kernel category, or graph, step or pause; the key
-- weight   DOUBLE   what the mark counts; the place needs 4 in all, and half of what the best has
-- comment  VARCHAR  why
CREATE TABLE pass_marks (
    mark VARCHAR PRIMARY KEY,
    weight DOUBLE NOT NULL,
    comment VARCHAR
);
