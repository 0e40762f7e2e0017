-- The value of a sum of products such as 2 B S H + 4 B, given its symbols; NULL for one unknown.
CREATE MACRO _compat_products(formula, symbols) AS
list_sum(list_transform(
    string_split(formula, ' + '),
    lambda term: list_reduce(
        list_transform(
            string_split(term, ' '),
            lambda word: coalesce(
                CAST(symbols[word] AS HUGEINT), TRY_CAST(word AS HUGEINT)
            )
        ),
        lambda one, other: one * other
    )
));

-- A shape such as B S H in numbers, given its symbols.
CREATE MACRO _compat_shape_text(shape, symbols) AS
'[' || array_to_string(
    list_transform(
        string_split(shape, ' '), lambda word: coalesce(CAST(symbols[word] AS VARCHAR), word)
    ),
    '×'
) || ']';

-- One row per scenario of the reference's simulator and compress ratio of the model's layers:
-- values of the symbols of compat_operator_rules.
CREATE VIEW _compat_symbols AS
WITH kinds AS (
    SELECT model, compress_ratio, count(*) AS layers, min(layer_id) AS first_layer
    FROM compat_model_layers
    GROUP BY model, compress_ratio
)
SELECT
    request, kinds.model, compress_ratio, layers, first_layer, attention, tp, ep,
    map_concat(symbols, MAP {
        'B': batch, 'S': seq_len, 'prefill': CAST(seq_len > 1 AS BIGINT),
        'indexer': CAST(compress_ratio = 128 AND index_heads > 0 AS BIGINT),
        'compressed_prefill': CAST(compress_ratio > 0 AND seq_len > 1 AS BIGINT),
        'plain_prefill': CAST(compress_ratio = 0 AND seq_len > 1 AS BIGINT),
        'keys': greatest(coalesce(seq_len // nullif(compress_ratio, 0), 0), sliding_window)
    }) AS symbols
FROM _compat_questions
JOIN kinds USING (model)
JOIN _compat_model_dims USING (model);

-- One row per operator that the reference's compute simulator counts, for a scenario and a compress
-- ratio of the model's layers. Provided for comparison with operators, which is the relation to
-- use: the simulator's attention lacks a factor of the sequence length, and it has no key-value
-- cache.
--
-- key: request, compress_ratio?, op_seq
--
-- request         VARCHAR  scenario, from compat_requests
-- model           VARCHAR  model, from compat_models
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
CREATE VIEW compat_model_operators AS
WITH counted AS (
    SELECT
        request, model, compress_ratio, layers, first_layer, tp, ep, place, op, category,
        CAST(_compat_products(rules.flop, symbols) AS HUGEINT) AS flop,
        _compat_shape_text(shape_in, symbols) AS shape_in,
        _compat_shape_text(shape_out, symbols) AS shape_out
    FROM _compat_symbols AS kinds
    JOIN compat_operator_rules AS rules
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
