-- One row per kernel category that narrows down the operator a kernel is part of.
--
-- category  VARCHAR  category of category_rules; the key
-- role      VARCHAR  operator, or overhead: work of no operator of a model
-- op        VARCHAR  the operator, if a category has only one: of the relation operators, or its
--                    fused_op, or a common name of several; for overhead its kind
-- families  VARCHAR  families of trace_op_rules, separated by semicolons, whose work such a kernel
--                    does
-- comment   VARCHAR  why
CREATE TABLE operator_categories (
    category VARCHAR PRIMARY KEY,
    role VARCHAR NOT NULL,
    op VARCHAR,
    families VARCHAR,
    comment VARCHAR
);
