-- One row per op type of Ascend kernels with a category of its own: the table that is tried before
-- the patterns of ascend_op_patterns.
--
-- Its names are also the types that a name without a type (`Conv2D17`) is searched for.
--
-- op_type       VARCHAR  op type without its variant's suffix, in any case; the key
-- op_category   VARCHAR  category in the words of Ascend's operators
-- sub_category  VARCHAR  what sets it apart within the category
-- comment       VARCHAR  why
CREATE TABLE ascend_op_types (
    op_type VARCHAR PRIMARY KEY,
    op_category VARCHAR NOT NULL,
    sub_category VARCHAR,
    comment VARCHAR
);
