-- One row per category that XLA gives an instruction (hlo_category) and that is more than plain
-- computing: what such an instruction counts as. A category without a row computes.
--
-- hlo_category  VARCHAR  category as the trace has it; the key
-- class         VARCHAR  communication or dma (moves data beside the compute units); else compute
-- collective    VARCHAR  which collective, NULL for others
-- category      VARCHAR  kernel category, NULL where the name decides
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
