-- One row per rule for the arithmetic that a kernel's name shows.
--
-- Patterns are tried once per distinct name; of each mark the match of lowest priority applies.
--
-- priority  INTEGER  order: the lowest match applies; the key
-- mark      VARCHAR  dtype: type of the operands in the units that multiply; windowed: attention
--                    that sees only some of the keys: a window, or chosen ones; fp8_cache: reads
--                    keys and values of one byte; combine: sums up partial results of other
--                    kernels; adapter: product with the matrices of LoRA adapters
-- pattern   VARCHAR  regular expression (RE2) for the lower-cased name
-- value     VARCHAR  a name of the table dtypes, or the mark again
-- inputs    VARCHAR  it applies only if the inputs have this type; NULL: always
-- comment   VARCHAR  why, or an example
CREATE TABLE kernel_marks (
    priority INTEGER PRIMARY KEY,
    mark VARCHAR NOT NULL,
    pattern VARCHAR NOT NULL,
    value VARCHAR NOT NULL,
    inputs VARCHAR,
    comment VARCHAR
);
