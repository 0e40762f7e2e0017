-- One row per rule that gives kernels a category; of the rules that match a name, the one of lowest
-- priority applies.
--
-- priority  INTEGER  order of evaluation, lowest first; the key
-- category  VARCHAR  category given
-- label     VARCHAR  display name of the category
-- kind      VARCHAR  compute, communication or memory
-- pattern   VARCHAR  regular expression (RE2) that the lower-cased kernel name contains
-- vendor    VARCHAR  whose hardware runs such kernels, any if several do
-- stack     VARCHAR  library or engine that the name comes from
-- profile   VARCHAR  the rule holds only for traces of this profile; NULL for every trace
-- comment   VARCHAR  why the rule is there, with a name it catches
CREATE TABLE category_rules (
    priority INTEGER PRIMARY KEY,
    category VARCHAR NOT NULL,
    label VARCHAR,
    kind VARCHAR NOT NULL,
    pattern VARCHAR NOT NULL,
    vendor VARCHAR,
    stack VARCHAR,
    profile VARCHAR,
    comment VARCHAR
);
