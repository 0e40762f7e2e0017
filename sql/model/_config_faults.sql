-- One row per property in a model's config.json that cannot be read: it is not what config_fields
-- says, names a type of numbers or a way to quantise that no table has, or tells of layers without
-- operators here. The last where no list of the layers says what each is: what such a list holds is
-- judged by _dimension_faults.
--
-- model  VARCHAR  name
-- field  VARCHAR  property, as in config_names
-- fault  VARCHAR  its name in the file, its value, and what is expected
CREATE VIEW _config_faults AS
WITH said AS (
    SELECT
        f.model, f.field, f.name, f.value, t.kind, t.least, t.most, t.words,
        json_type(f.value) AS form, f.value ->> '$' AS word,
        lower(f.value ->> 'quant_method') AS method,
        -- A number, or those of a list.
        CASE
            WHEN json_type(f.value) = 'ARRAY' THEN TRY_CAST(f.value AS DOUBLE[])
            WHEN json_type(f.value) <> 'BOOLEAN' THEN [TRY_CAST(f.value ->> '$' AS DOUBLE)]
        END AS numbers
    FROM _config_fields AS f
    JOIN config_fields AS t ON t.field = f.field
),
judged AS (
    SELECT
        model, field, name, value, kind, least, most, words, form, word, method,
        coalesce(
            len(list_filter(numbers, lambda number: number BETWEEN least AND most)) = len(numbers),
            FALSE
        ) AS within,
        coalesce(
            len(list_filter(numbers, lambda number: number = floor(number))) = len(numbers), FALSE
        ) AS whole
    FROM said
),
listed AS (
    SELECT model FROM judged WHERE field = 'layer_types'
),
typed AS (
    SELECT
        model,
        coalesce(
            any_value(value ->> 'model_type') FILTER (field = 'language'),
            any_value(word) FILTER (field = 'model_type')
        ) AS model_type
    FROM judged
    GROUP BY model
),
wrong AS (
    SELECT model, field, name, value, kind, least, most
    FROM judged
    WHERE NOT CASE kind
        WHEN 'number' THEN within AND form <> 'ARRAY'
        WHEN 'whole number' THEN within AND whole AND form <> 'ARRAY'
        WHEN 'list of whole numbers' THEN within AND whole AND form = 'ARRAY'
        WHEN 'whole number or list of them' THEN within AND whole
        WHEN 'whole number or pattern as LLLG'
            THEN within AND whole AND form <> 'ARRAY' OR regexp_full_match(word, 'L*G')
        WHEN 'true or false' THEN TRY_CAST(value AS BOOLEAN) IS NOT NULL
        WHEN 'list of words' THEN TRY_CAST(value AS VARCHAR[]) IS NOT NULL
        WHEN 'object' THEN form = 'OBJECT'
        WHEN 'no such layers' THEN TRUE
        ELSE form = 'VARCHAR'
    END
)
SELECT
    model, field,
    concat(
        name, ' is ', left(CAST(value AS VARCHAR), 60), ': expected ', kind,
        CASE WHEN least IS NOT NULL THEN printf(', %.0f to %.0f', least, most) END
    ) AS fault
FROM wrong
UNION ALL
SELECT
    model, field,
    printf('%s is "%s": expected %s', name, left(word, 60), replace(words, ' ', ' or '))
FROM judged
WHERE kind = 'word' AND form = 'VARCHAR' AND NOT list_contains(string_split(words, ' '), word)
UNION ALL
SELECT
    model, field,
    printf(
        '%s is %s: %s have no operators here',
        name, left(CAST(value AS VARCHAR), 60), replace(field, '_', ' ')
    )
FROM judged
ANTI JOIN listed ON listed.model = judged.model
WHERE kind = 'no such layers' AND NOT within AND TRY_CAST(value AS BOOLEAN) IS NOT FALSE
UNION ALL
SELECT
    c.model, 'model_type',
    printf('model_type %s: %s has no operators here', c.model_type, t.other_layers)
FROM typed AS c
JOIN model_types AS t ON t.model_type = c.model_type
ANTI JOIN listed ON listed.model = c.model
ANTI JOIN judged ON judged.model = c.model AND judged.kind = 'no such layers'
WHERE t.other_layers IS NOT NULL
UNION ALL
SELECT
    j.model, j.field,
    printf('%s is "%s": no such type of numbers is in the table dtypes', j.name, left(j.word, 60))
FROM judged AS j
LEFT JOIN _dtype_words AS d ON d.word = lower(j.word)
WHERE j.field = 'dtype' AND j.form = 'VARCHAR' AND d.word IS NULL
UNION ALL
SELECT
    j.model, j.field,
    printf('%s: quant_method "%s" is not in the table quantizations', j.name, left(j.method, 60))
FROM judged AS j
LEFT JOIN quantizations AS q ON q.method = j.method
WHERE j.field = 'quantization' AND j.method IS NOT NULL AND q.method IS NULL;
