-- One row per form of op type of Ascend kernels; tried in order of priority for types that
-- ascend_op_types does not have.
--
-- priority     INTEGER  order of evaluation, lowest first; the key
-- pattern      VARCHAR  pattern for the whole op type, ignoring case; * matches anything
-- op_category  VARCHAR  category as named for Ascend's operators
-- comment      VARCHAR  why
CREATE TABLE ascend_op_patterns (
    priority INTEGER PRIMARY KEY,
    pattern VARCHAR NOT NULL,
    op_category VARCHAR NOT NULL,
    comment VARCHAR
);
