-- One row per model whose config.json names a quantisation method, with the matching row of
-- quantizations: of the method's rows, the one with the file's number of bits.
--
-- model     VARCHAR  name
-- name      VARCHAR  the file's name for the property
-- method    VARCHAR  quant_method, in lower case
-- quantized VARCHAR  method of quantizations; NULL: no row has this method and these bits
-- bits      INTEGER  bits of a weight; NULL: the file gives none
-- gemm_dtype VARCHAR type of products if activations are quantised too, to at least as many bits as
--                    weights; NULL if the file does not show it
-- kv_cache_dtype VARCHAR type of the KV cache, if the file's is 8-bit floating point; else NULL
CREATE VIEW _config_quantizations AS
WITH given AS (
    SELECT
        model, name, lower(value ->> 'quant_method') AS method,
        -- Of several groups of modules, the first counts.
        value -> '$.config_groups.group_0.weights' AS weights,
        value -> '$.config_groups.group_0.input_activations' AS inputs,
        coalesce(value ->> 'bits', value ->> 'w_bit') AS said_bits,
        -- Such as NVFP4, FP8_PB_WO, W4A16_AWQ.
        nullif(regexp_extract(lower(value ->> 'quant_algo'), '(?:fp|^w)(\d+)', 1), '') AS algo_bits,
        starts_with(lower(value ->> 'quant_algo'), 'nvfp4') AS is_nvfp4,
        -- Weights are integers where it names no type; SQ is SmoothQuant, of integers.
        regexp_full_match(lower(value ->> 'quant_algo'), 'w\d+a\d+(_awq|_gptq|_sq\w*)?')
            AS is_integer,
        nullif(regexp_extract(lower(value ->> 'quant_algo'), '^w\d+a(\d+)', 1), '')
            AS algo_input_bits,
        contains(lower(value ->> 'quant_algo'), '_sq') AS is_smooth,
        CASE
            WHEN value ->> '$.kv_cache_scheme.type' = 'float'
                AND TRY_CAST(value ->> '$.kv_cache_scheme.num_bits' AS INTEGER) = 8 THEN 'fp8'
        END AS kv_cache_dtype
    FROM _config_fields
    WHERE field = 'quantization'
),
counted AS (
    SELECT
        model, name, method, kv_cache_dtype,
        CASE coalesce(weights ->> 'type', if(is_integer, 'int', NULL))
            WHEN 'float' THEN 'fp'
            WHEN 'int' THEN 'int'
        END AS kind,
        TRY_CAST(coalesce(said_bits, weights ->> 'num_bits', algo_bits) AS INTEGER) AS bits,
        -- NVFP4 quantises weights and activations.
        CASE
            WHEN inputs ->> 'type' = 'float' OR is_nvfp4 AND inputs IS NULL THEN 'fp'
            WHEN inputs ->> 'type' = 'int' THEN 'int'
            WHEN inputs IS NULL AND algo_input_bits IS NOT NULL THEN if(is_smooth, 'int', 'fp')
        END AS input_kind,
        CASE
            WHEN is_nvfp4 AND inputs IS NULL THEN 4
            ELSE TRY_CAST(coalesce(inputs ->> 'num_bits', algo_input_bits) AS INTEGER)
        END AS input_bits
    FROM given
    WHERE method IS NOT NULL
)
SELECT
    c.model, any_value(c.name) AS name, any_value(c.method) AS method,
    arg_min(q.method, q.method) AS quantized, any_value(c.bits) AS bits,
    any_value(concat(input_kind, input_bits))
        FILTER (input_kind IS NOT NULL AND input_bits BETWEEN c.bits AND 8) AS gemm_dtype,
    any_value(c.kv_cache_dtype) AS kv_cache_dtype
FROM counted AS c
LEFT JOIN quantizations AS q
    ON split_part(q.method, ' ', 1) = c.method
    AND CASE
        WHEN c.bits IS NULL THEN q.method = c.method
        ELSE regexp_full_match(
            coalesce(q.weight_dtype, q.expert_dtype), concat(coalesce(c.kind, '[a-z]+'), c.bits)
        )
    END
GROUP BY c.model;
