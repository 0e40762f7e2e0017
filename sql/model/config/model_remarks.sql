-- One row per model and property of its config.json that was repaired, that its costs leave out, or
-- that they assume.
--
-- key: model, remark
--
-- model   VARCHAR  model
-- remark  VARCHAR  what
CREATE VIEW model_remarks AS
WITH unknown AS (
    SELECT u.model, u.entry
    FROM (
        SELECT model, unnest(entries) AS entry FROM _unquantized_layers WHERE module IS NULL
    ) AS u
    JOIN architectures AS a ON a.model = u.model
    WHERE
        -- These are not quantised anyway.
        NOT regexp_matches(
            u.entry,
            concat(
                'lm_head|embed|norm|bias|(?:^|[._])gate\b|router|eh_proj|mtp|weights_proj',
                '|vision|visual|audio|image|projector|merger|connector|pooler|classifier|score'
            )
        )
        -- Beyond the last layer are those of multi-token prediction, which cost what that does.
        AND coalesce(
            TRY_CAST(regexp_extract(u.entry, '\.layers\.(\d+)', 1) AS BIGINT) < a.num_layers, TRUE
        )
)
SELECT model, remark FROM architectures WHERE remark IS NOT NULL
UNION ALL
SELECT
    model,
    printf(
        concat(
            'model_type %s is not known: taken for a decoder like Llama, whose MLPs have a gate, ',
            'in all that the file leaves unsaid'
        ),
        left(model_type, 60)
    )
FROM architectures
ANTI JOIN model_types USING (model_type)
WHERE source = 'config.json' AND model_type IS NOT NULL
UNION ALL
SELECT
    model,
    concat(
        'quantization_config: no layer has ', left(min(entry), 60),
        CASE WHEN count(*) > 1 THEN printf(' and %d more', count(*) - 1) END,
        ': taken as quantised'
    )
FROM unknown
GROUP BY model
UNION ALL
SELECT
    model,
    concat(
        'quantization_config: kv_cache_scheme is ', left(CAST(scheme AS VARCHAR), 60),
        ', of which only 8 bits of type float are known: the KV cache is taken as not quantised'
    )
FROM (
    SELECT model, value -> 'kv_cache_scheme' AS scheme
    FROM _config_fields
    WHERE field = 'quantization'
)
JOIN architectures USING (model)
WHERE kv_cache_dtype IS NULL AND json_type(scheme) <> 'NULL'
UNION ALL
SELECT
    model,
    concat(
        'quantization_config: quant_algo is MIXED_PRECISION: all layers are taken as quantised to ',
        weight_dtype, ', whatever quantized_layers gives'
    )
FROM _config_fields
JOIN architectures USING (model)
WHERE field = 'quantization' AND upper(value ->> 'quant_algo') = 'MIXED_PRECISION'
UNION ALL
SELECT
    model,
    printf(
        'quantization_config: of %d config_groups of different weights the first counts for all',
        len(groups)
    )
FROM (
    SELECT model, json_extract(value, '$.config_groups.*.weights') AS groups
    FROM _config_fields
    WHERE field = 'quantization'
)
WHERE
    len(list_distinct(
        list_transform(
            groups, lambda weights: concat(weights ->> 'type', weights ->> 'num_bits')
        )
    )) > 1;
