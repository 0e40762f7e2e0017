-- One row per operator that the reference's compute simulator counts, for a question and a compress
-- ratio of the model's layers. To hold against operators, which is the relation to use: the
-- simulator's attention lacks a factor of the sequence length, and it knows no key-value cache.
--
-- request         VARCHAR  question, from reference_requests
-- model           VARCHAR  model, from reference_models
-- compress_ratio  BIGINT   keys that such a layer merges into one
-- layers          BIGINT   layers of that ratio
-- first_layer     BIGINT   the first of them
-- op_seq          BIGINT   order in the layer, from 0
-- op              VARCHAR  operator; rmsnorm and residual_add are there twice
-- category        VARCHAR  attention, moe, ffn, norm, residual, quant or mhc
-- flop            HUGEINT  FLOP of one layer, of all GPUs
-- flop_gpu        DOUBLE   FLOP of one GPU: routed experts by EP, all else by TP
-- shape_in        VARCHAR  shape of the input
-- shape_out       VARCHAR  shape of the output
CREATE VIEW reference_model_operators AS
WITH counted AS (
    SELECT
        request, model, compress_ratio, layers, first_layer, tp, ep, place, op, category,
        CAST(_reference_products(rules.flop, symbols) AS HUGEINT) AS flop,
        _reference_shape_text(shape_in, symbols) AS shape_in,
        _reference_shape_text(shape_out, symbols) AS shape_out
    FROM _reference_symbols AS kinds
    JOIN reference_operator_rules AS rules
        ON rules.attention IS NULL OR list_contains(rules.attention, kinds.attention)
    WHERE needs IS NULL OR symbols[needs] = 1
)
SELECT
    request, model, compress_ratio, layers, first_layer,
    row_number() OVER layer - 1 AS op_seq,
    op, category, flop,
    flop / CASE WHEN category = 'moe' AND contains(op, 'routed') THEN ep ELSE tp END AS flop_gpu,
    shape_in, shape_out
FROM counted
WINDOW layer AS (PARTITION BY request, compress_ratio ORDER BY place);
