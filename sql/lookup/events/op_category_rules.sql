-- One row per rule for a kernel's category by the framework operator that launched it; of the rules
-- that match the operator's name, the one of lowest priority applies.
--
-- Only compute kernels are classified so: a driver's copy or fill stays memory, a collective
-- communication, whatever launched them. The one exception is a copy from a device to a peer (PtoP)
-- in the operator of a collective: that is the collective's transfer. An operator without a rule,
-- such as a compiler region or an engine's fused operator, leaves its kernels to category_rules.
--
-- priority  INTEGER  order of evaluation, lowest first; the key
-- pattern   VARCHAR  regular expression (RE2) that the operator's name contains
-- category  VARCHAR  category of its kernels, one of those in category_rules
-- kind      VARCHAR  compute or communication
-- keeps     VARCHAR  categories by name that are kept, separated by semicolons: finer categories of
--                    the same, or separate work inside the operator; * for every name that has a
--                    rule
-- helpers   VARCHAR  categories by name that do not contradict it, separated by semicolons: vaguer
--                    categories of the same, or steps that belong to the operator
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
