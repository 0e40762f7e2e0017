-- One row per kernel category: the group it is counted in where a table shows few columns, and how
-- such kernels distinguish kinds of layers.
--
-- category        VARCHAR  category, from category_rules; the key
-- category_group  VARCHAR  attention, moe, gemm, communication, mhc, norm, activation, quant,
--                          memory or other
-- told_by         VARCHAR  call: the name and the count; category: only its presence, as matmul
--                          names differ by size; kernel: the name, if several layers of a pass have
--                          it; nothing: it makes no difference
-- comment         VARCHAR  why
CREATE TABLE category_groups (
    category VARCHAR PRIMARY KEY,
    category_group VARCHAR NOT NULL,
    told_by VARCHAR NOT NULL,
    comment VARCHAR
);
