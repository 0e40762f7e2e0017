-- One row per op type of Ascend kernels with a category of its own: tried before the patterns of
-- ascend_op_patterns.
--
-- Its types are also searched for in kernel names without a type (`Conv2D17`).
--
-- op_type       VARCHAR  op type without its variant's suffix, ignoring case; the key
-- op_category   VARCHAR  category as named for Ascend's operators
-- sub_category  VARCHAR  subdivision of the category
-- comment       VARCHAR  why
CREATE TABLE ascend_op_types (
    op_type VARCHAR PRIMARY KEY,
    op_category VARCHAR NOT NULL,
    sub_category VARCHAR,
    comment VARCHAR
);
