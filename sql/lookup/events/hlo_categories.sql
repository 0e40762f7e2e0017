-- One row per category that XLA gives an instruction (hlo_category): what it counts as.
-- The words are those of XLA's profiler; where it has none, the instruction's opcode.
-- A category without a row computes, and the name decides, as where a row has no kernel category.
-- What holds other instructions (while, call, conditional) has no row.
--
-- hlo_category  VARCHAR  category as the trace has it; the key
-- class         VARCHAR  communication or dma (moves data beside the compute units); else compute
-- collective    VARCHAR  which collective, NULL for others
-- category      VARCHAR  kernel category, NULL if the name decides
-- kind          VARCHAR  compute, communication or memory
-- comment       VARCHAR  what it is
CREATE TABLE hlo_categories (
    hlo_category VARCHAR PRIMARY KEY,
    class VARCHAR NOT NULL,
    collective VARCHAR,
    category VARCHAR,
    kind VARCHAR NOT NULL,
    comment VARCHAR
);
