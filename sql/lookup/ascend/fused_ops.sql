-- One row per pattern of simulator operators that represent one fused kernel.
--
-- pattern      VARCHAR  regular expression (RE2) for the operator; the key
-- fused_group  VARCHAR  the fused kernel
CREATE TABLE fused_ops (
    pattern VARCHAR PRIMARY KEY,
    fused_group VARCHAR NOT NULL
);
