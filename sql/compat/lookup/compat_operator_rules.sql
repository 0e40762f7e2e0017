-- One row per operator that the reference's compute simulator counts in a layer: when, and with how
-- many FLOP.
--
-- FLOP are a sum of products, its factors apart by blanks: numbers, or the symbols that
-- _compat_symbols gives. They are the simulator's formulas with its errors: attention lacks a
-- factor of the sequence length, norms and residuals lack the number of tokens.
--
-- place      BIGINT     order in the layer; the key
-- attention  VARCHAR[]  kinds of attention that have it; NULL: every layer
-- op         VARCHAR    operator
-- category   VARCHAR    attention, moe, ffn, norm, residual, quant or mhc
-- flop       VARCHAR    FLOP as a sum of products
-- shape_in   VARCHAR    dimensions of the input
-- shape_out  VARCHAR    dimensions of the output
-- needs      VARCHAR    symbol that is 1 where the operator is there; NULL: always
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
