-- One row per category that XLA gives an instruction (hlo_category): its class and kernel category.
-- The names are those of XLA's profiler, else the instruction's opcode. A category without a row is
-- compute, and the name decides, as for rows without a kernel category. Instructions that contain
-- others (while, call, conditional) have no row.
--
-- hlo_category   VARCHAR  category as the trace has it; the key
-- class          VARCHAR  communication or dma (moves data beside the compute units); else compute
-- collective     VARCHAR  which collective, NULL for others
-- category       VARCHAR  kernel category, NULL if the name decides
-- kind           VARCHAR  compute, communication or memory
-- is_async       BOOLEAN  begins or ends what runs beside the operations: its time is not that of
--                         the transfer, and its bytes by XLA count the same transfer again
-- is_wrapper     BOOLEAN  may hold a collective: if the name is that of one, the name decides; XLA
--                         has no opcode for a reduce-scatter or an all-to-all that it splits
-- wrapped_names  VARCHAR  names of a wrapper, without numbers, that decide, separated by ;. NULL if
--                         any name of a collective does
-- comment        VARCHAR  what it is
CREATE TABLE hlo_categories (
    hlo_category VARCHAR PRIMARY KEY,
    class VARCHAR NOT NULL,
    collective VARCHAR,
    category VARCHAR,
    kind VARCHAR NOT NULL,
    is_async BOOLEAN,
    is_wrapper BOOLEAN,
    wrapped_names VARCHAR,
    comment VARCHAR
);
