-- One row per question to the reference's simulator and compress ratio of the model's layers: what
-- the symbols of reference_operator_rules mean there.
-- request         VARCHAR  question
-- model           VARCHAR  model
-- compress_ratio  BIGINT   keys merged into one
-- layers          BIGINT   layers of that ratio
-- first_layer     BIGINT   the first of them
-- attention       VARCHAR  kind of attention
-- tp              BIGINT   tensor-parallel degree
-- ep              BIGINT   expert-parallel degree
-- symbols         MAP      values by symbol; conditions are 1 or 0
CREATE VIEW _reference_symbols AS
WITH kinds AS (
    SELECT model, compress_ratio, count(*) AS layers, min(layer_id) AS first_layer
    FROM reference_model_layers
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
FROM _reference_questions
JOIN kinds USING (model)
JOIN _reference_model_dims USING (model);
