-- One row per rule for the class of an XLA operation by its name, if it has no hlo_category or one
-- that wraps any computation (is_wrapper of hlo_categories); of the rules that match, the one of
-- lowest priority applies.
-- priority    INTEGER  order of evaluation, lowest first; the key
-- pattern     VARCHAR  regular expression (RE2) that the lower-cased canonical name contains
-- class       VARCHAR  communication, copy, dma, wait or compute
-- collective  VARCHAR  which collective, NULL for others
-- comment     VARCHAR  why the rule is there
CREATE TABLE op_name_rules (
    priority INTEGER PRIMARY KEY,
    pattern VARCHAR NOT NULL,
    class VARCHAR NOT NULL,
    collective VARCHAR,
    comment VARCHAR
);
