-- One row per rule for what a kernel counts as, by the framework operator that launched
-- it; of the rules that match the operator's name, the one of lowest priority applies.
--
-- Only what computes is classified so: a driver's copy or fill stays memory, a collective
-- communication, whatever launched them. An operator without a rule, as a region of a
-- compiler or a fused operator of an engine, leaves its kernels to category_rules.
--
-- priority  INTEGER  order of evaluation, lowest first; the key
-- pattern   VARCHAR  regular expression (RE2) that the operator's name contains
-- category  VARCHAR  category of its kernels, one of those in category_rules
-- kind      VARCHAR  compute or communication
-- keeps     VARCHAR  categories by name that stay, separated by semicolons: finer words for the
--                    same, or work of its own inside the operator; * for every name that has a rule
-- helpers   VARCHAR  categories by name that are no contradiction, separated by semicolons: vaguer
--                    words for the same, or steps that belong to the operator
-- comment   VARCHAR  why, with an operator it catches
CREATE TABLE op_category_rules (
    priority INTEGER PRIMARY KEY,
    pattern VARCHAR NOT NULL,
    category VARCHAR NOT NULL,
    kind VARCHAR NOT NULL,
    keeps VARCHAR,
    helpers VARCHAR,
    comment VARCHAR
);
