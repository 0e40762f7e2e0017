-- One row per rule that puts operations into a family; of the rules that match, the one of lowest
-- priority applies, and if none matches the family is the kernel category.
-- priority  INTEGER  order of evaluation, lowest first; the key
-- field     VARCHAR  what is matched: name, dedup_name, path, hlo_category, source, category,
--                    class
-- pattern   VARCHAR  regular expression (RE2) that the lower-cased field contains
-- family    VARCHAR  family given
-- comment   VARCHAR  why the rule is there
CREATE TABLE family_rules (
    priority INTEGER PRIMARY KEY,
    field VARCHAR NOT NULL,
    pattern VARCHAR NOT NULL,
    family VARCHAR NOT NULL,
    comment VARCHAR
);
