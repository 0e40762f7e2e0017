-- One row per category of Ascend's operators: the category that all vendors share, for op types
-- that no rule of category_rules matches.
--
-- op_category  VARCHAR  category as named for Ascend's operators, from ascend_op_types; the key
-- category     VARCHAR  category, one of those in category_rules
-- kind         VARCHAR  compute, communication or memory
-- comment      VARCHAR  why
CREATE TABLE ascend_op_categories (
    op_category VARCHAR PRIMARY KEY,
    category VARCHAR NOT NULL,
    kind VARCHAR NOT NULL,
    comment VARCHAR
);
