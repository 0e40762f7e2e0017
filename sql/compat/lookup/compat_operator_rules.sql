-- One row per operator that the reference's compute simulator counts in a layer: when, and with how
-- many FLOP.
--
-- FLOP are a sum of products with factors separated by blanks: numbers, or the symbols of
-- _compat_symbols. They are the simulator's formulas, errors included: attention lacks a factor of
-- the sequence length, norms and residuals lack the number of tokens.
--
-- place      BIGINT     order in the layer; the key
-- attention  VARCHAR[]  kinds of attention that have it; NULL: every layer
-- op         VARCHAR    operator
-- category   VARCHAR    attention, moe, ffn, norm, residual, quant or mhc
-- flop       VARCHAR    FLOP as a sum of products
-- shape_in   VARCHAR    dimensions of the input
-- shape_out  VARCHAR    dimensions of the output
-- needs      VARCHAR    symbol that is 1 if the operator exists; NULL: always
CREATE TABLE compat_operator_rules (
    place BIGINT PRIMARY KEY,
    attention VARCHAR[],
    op VARCHAR NOT NULL,
    category VARCHAR NOT NULL,
    flop VARCHAR NOT NULL,
    shape_in VARCHAR NOT NULL,
    shape_out VARCHAR NOT NULL,
    needs VARCHAR
);
