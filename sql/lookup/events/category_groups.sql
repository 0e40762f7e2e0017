-- One row per kernel category: the group it is counted in where a table has room for a few columns,
-- and what of such kernels distinguishes kinds of layers.
--
-- category        VARCHAR  category, from category_rules; the key
-- category_group  VARCHAR  attention, moe, gemm, communication, mhc, norm, activation, quant,
--                          memory or other
-- told_by         VARCHAR  call: the name and how often; category: only that there are some, as
--                          matmuls have other names for other sizes; kernel: the name, where
--                          several layers of a pass have it; nothing: layers with and without it
--                          are alike
-- comment         VARCHAR  why
CREATE TABLE category_groups (
    category VARCHAR PRIMARY KEY,
    category_group VARCHAR NOT NULL,
    told_by VARCHAR NOT NULL,
    comment VARCHAR
);
