-- One row per model and module with weights of a linear layer or of an expert that its
-- quantization_config leaves unquantised in some layers; and one for entries that match none.
--
-- An entry selects the modules whose path contains it as segments, such as lm_head or mlp.gate; an
-- asterisk in it stands for any text, and re: begins a regular expression over the path. The number
-- of a layer is cut off, so that equal entries of many layers are one pattern.
--
-- stored: in memory
--
-- key: model, module?
--
-- model      VARCHAR    model
-- module     VARCHAR    module, as in operator_rules; NULL: no layer has such a module
-- layer_ids  BIGINT[]   those layers, from 0
-- entries    VARCHAR[]  entries of the file that name it
CREATE VIEW _unquantized_layers AS
WITH given AS (
    SELECT model, value FROM _config_fields WHERE field = 'quantization'
),
listed AS (
    SELECT
        model,
        unnest(
            list_concat(
                coalesce(TRY_CAST(value -> 'modules_to_not_convert' AS VARCHAR[]), []),
                coalesce(TRY_CAST(value -> 'ignore' AS VARCHAR[]), []),
                coalesce(TRY_CAST(value -> 'exclude_modules' AS VARCHAR[]), []),
                coalesce(TRY_CAST(value -> 'ignored_layers' AS VARCHAR[]), []),
                -- GPTQ's rules for modules: those with a minus are excluded.
                list_transform(
                    list_filter(
                        coalesce(json_keys(value, '$.dynamic'), []),
                        lambda rule: starts_with(rule, '-:')
                    ),
                    lambda rule: 're:' || substr(rule, 3)
                )
            )
        ) AS name
    FROM given
),
cut AS (
    SELECT DISTINCT
        model, name, starts_with(name, 're:') AS is_regular,
        regexp_extract(
            rtrim(name, '.'),
            concat(
                '^(?:(?:model|language_model|transformer|decoder|gpt_neox)\.)*',
                '(?:layers|h)\.(\d+|\*)\.?(.*)$'
            ),
            ['layer', 'rest']
        ) AS place
    FROM listed
    WHERE name <> ''
),
named AS MATERIALIZED (
    SELECT
        model, name, TRY_CAST(place.layer AS BIGINT) AS layer_id,
        is_regular OR place.layer = '' AND contains(name, '*') AS whole_path,
        CASE
            WHEN is_regular THEN concat('^(?:', substr(name, 4), ')')
            WHEN place.layer <> '' AND place.rest = '' THEN '.'
            ELSE concat(
                CASE WHEN place.layer <> '' OR contains(name, '*') THEN '^' ELSE '(?:^|\.)' END,
                replace(
                    regexp_escape(
                        CASE WHEN place.layer <> '' THEN place.rest ELSE rtrim(name, '.') END
                    ),
                    '\*', '.*'
                ),
                '(?:\.|$)'
            )
        END AS pattern
    FROM cut
),
paths AS (
    SELECT module, module AS path FROM operator_rules
    UNION
    SELECT module, name FROM module_names
),
layer_parts AS (
    SELECT model, layer_id, attention_kind AS part FROM model_layers
    UNION ALL
    SELECT model, layer_id, mlp_kind FROM model_layers
),
places AS (
    SELECT DISTINCT l.model, l.layer_id, r.module, p.path
    FROM layer_parts AS l
    SEMI JOIN named ON named.model = l.model
    JOIN operator_rules AS r ON r.part = l.part AND r.weights IN ('linear', 'expert')
    JOIN paths AS p ON p.module = r.module
),
-- There are few patterns and few paths, but many layers.
fitting AS (
    SELECT pattern, path
    FROM (SELECT DISTINCT pattern FROM named WHERE NOT whole_path)
    CROSS JOIN (SELECT DISTINCT path FROM paths)
    WHERE try(regexp_matches(path, pattern))
),
found AS MATERIALIZED (
    SELECT n.model, n.name, p.module, p.layer_id
    FROM named AS n
    JOIN fitting AS f ON f.pattern = n.pattern AND NOT n.whole_path
    JOIN places AS p
        ON p.model = n.model AND p.path = f.path AND coalesce(n.layer_id, p.layer_id) = p.layer_id
    UNION
    SELECT n.model, n.name, p.module, p.layer_id
    FROM named AS n
    JOIN places AS p ON p.model = n.model AND n.whole_path
    CROSS JOIN (VALUES ('model.'), ('language_model.model.'), ('model.language_model.')) AS r (root)
    WHERE try(regexp_matches(concat(root, 'layers.', p.layer_id, '.', p.path), n.pattern))
)
SELECT
    model, module, list(DISTINCT layer_id ORDER BY layer_id) AS layer_ids,
    list(DISTINCT name ORDER BY name) AS entries
FROM (
    SELECT model, name, module, layer_id FROM found
    UNION ALL
    SELECT n.model, n.name, NULL, n.layer_id
    FROM named AS n
    ANTI JOIN found ON found.model = n.model AND found.name = n.name
)
GROUP BY model, module;
