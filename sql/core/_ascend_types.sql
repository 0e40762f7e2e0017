-- One row per distinct op type, unit and, where a row has no type, name of the device rows of an
-- Ascend trace: what they are.
--
-- A row without a type is named by its name: the third part of an aclnn name; else the longest
-- known type that the name begins with, a leading trans_ left out, when only a number follows; else
-- the name. Of collectives, whose names end in numbers of a group and a call, all of these go.
-- Variants fold into one type: a number at the end of a lower-case symbol, and the suffixes that
-- tell where or how an operation was compiled.
--
-- trace_id        VARCHAR  trace
-- type_text       VARCHAR  op type as written
-- core_text       VARCHAR  accelerator core or task type as written
-- untyped_name    VARCHAR  name, where there is no op type
-- op_type         VARCHAR  op type
-- op_type_folded  VARCHAR  op type without what tells variants apart
-- op_category     VARCHAR  category in the words of Ascend's operators
-- sub_category    VARCHAR  what sets it apart within the category
-- core_group      VARCHAR  from ascend_cores
-- of_collectives  BOOLEAN  collectives are made of such tasks
-- of_hcom         BOOLEAN  named as a collective of HCCL
-- comm_kind       VARCHAR  kind of collective that the type names, NULL where it names none
CREATE VIEW _ascend_types AS
WITH written AS (
    SELECT DISTINCT
        trace_id, type_text, core_text, if(type_text IS NULL, name, NULL) AS untyped_name
    FROM _ascend_events
    WHERE line_role <> 'detail'
),
untyped AS (
    SELECT
        untyped_name,
        if(
            starts_with(untyped_name, 'aclnn'),
            array_to_string(string_split(untyped_name, '_')[3:], '_'),
            ''
        ) AS third_part,
        regexp_extract(untyped_name, '^hcom_[a-zA-Z]+_') AS collective,
        regexp_replace(untyped_name, '^trans_', '') AS named
    FROM (SELECT DISTINCT untyped_name FROM written)
    WHERE untyped_name IS NOT NULL
),
numbered AS (
    SELECT
        untyped_name,
        named,
        regexp_extract(named, '^(.*?)(_?)([0-9]*)$', ['stem', 'dash', 'number']) AS parts
    FROM untyped
    WHERE third_part = '' AND collective = ''
),
beginnings AS (
    -- The number may begin inside the type's own: MatMulV212 is the twelfth MatMulV2.
    SELECT
        untyped_name,
        lower(
            parts.stem || if(digits IS NULL, '', parts.dash || left(parts.number, digits))
        ) AS beginning
    FROM numbered
    CROSS JOIN unnest(list_append(range(0, least(len(parts.number), 20) + 1), NULL)) AS cut(digits)
),
recognised AS (
    SELECT untyped_name, max_by(op_type, len(op_type)) AS op_type
    FROM beginnings
    JOIN ascend_op_types ON lower(ascend_op_types.op_type) = beginning
    GROUP BY untyped_name
),
typed AS (
    SELECT
        written.trace_id, type_text, core_text, written.untyped_name,
        coalesce(
            type_text,
            nullif(third_part, ''),
            recognised.op_type,
            nullif(collective, ''),
            written.untyped_name
        ) AS op_type
    FROM written
    LEFT JOIN untyped USING (untyped_name)
    LEFT JOIN recognised USING (untyped_name)
),
folded AS (
    SELECT
        op_type,
        regexp_replace(
            regexp_replace(op_type, '^([^A-Z]*[^A-Z0-9])_\d{1,2}$', '\1'),
            '(.)(AiCore|Aicore|WithImplMode)$',
            '\1'
        ) AS op_type_folded,
        lower(replace(op_type, '_', '')) AS plain
    FROM (SELECT DISTINCT op_type FROM typed)
),
patterned AS (
    SELECT op_type, arg_min(ascend_op_patterns.op_category, priority) AS op_category
    FROM folded
    JOIN ascend_op_patterns ON lower(op_type_folded) GLOB lower(pattern)
    GROUP BY op_type
),
categorised AS (
    SELECT
        folded.op_type, op_type_folded, plain,
        coalesce(ascend_op_types.op_category, patterned.op_category, 'other') AS op_category,
        ascend_op_types.sub_category
    FROM folded
    LEFT JOIN ascend_op_types ON lower(ascend_op_types.op_type) = lower(op_type_folded)
    LEFT JOIN patterned ON patterned.op_type = folded.op_type
),
units AS (
    SELECT
        word, arg_min(core_group, priority) AS core_group,
        arg_min(of_collectives, priority) AS of_collectives
    FROM (
        SELECT core_text AS word FROM written
        UNION
        SELECT op_type FROM typed WHERE type_text IS NULL
    )
    JOIN ascend_cores ON upper(word) GLOB upper(pattern)
    GROUP BY word
)
SELECT
    typed.trace_id,
    typed.type_text,
    typed.core_text,
    typed.untyped_name,
    typed.op_type,
    categorised.op_type_folded,
    categorised.op_category,
    categorised.sub_category,
    CASE
        WHEN coalesce(units.core_group, 'unknown') <> 'unknown' THEN units.core_group
        -- At a low level the name of a task is its kind.
        WHEN core_text IS NULL OR units.core_group = 'unknown'
            THEN coalesce(nullif(named_units.core_group, 'communication'), 'unknown')
        ELSE 'other'
    END AS core_group,
    coalesce(units.of_collectives, FALSE) AS of_collectives,
    coalesce(starts_with(plain, 'hcom'), FALSE) AS of_hcom,
    CASE
        WHEN starts_with(plain, 'hcom') OR plain GLOB '*aivkernel' OR plain GLOB '*aicpukernel'
            THEN nullif(regexp_replace(plain, '^hcom|(aivkernel|aicpukernel)$', '', 'g'), '')
    END AS comm_kind
FROM typed
LEFT JOIN categorised USING (op_type)
LEFT JOIN units ON units.word = typed.core_text
LEFT JOIN units AS named_units ON named_units.word = typed.op_type AND typed.type_text IS NULL;
