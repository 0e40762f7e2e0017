-- One row per rule for the arithmetic that the name of a kernel shows.
--
-- Patterns are tried once per distinct name; of each mark the match of lowest priority applies.
--
-- priority  INTEGER  order: the lowest match applies; the key
-- mark      VARCHAR  dtype: type of the operands in the units that multiply; windowed: attention
--                    that sees a window of keys; combine: sums up what other kernels left
-- pattern   VARCHAR  regular expression (RE2) for the lower-cased name
-- value     VARCHAR  a name of the table dtypes, or the mark again
-- inputs    VARCHAR  it counts only where the inputs are of this type; NULL: always
-- comment   VARCHAR  why, or an example
CREATE TABLE kernel_marks (
    priority INTEGER PRIMARY KEY,
    mark VARCHAR NOT NULL,
    pattern VARCHAR NOT NULL,
    value VARCHAR NOT NULL,
    inputs VARCHAR,
    comment VARCHAR
);
