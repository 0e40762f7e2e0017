-- Dimensions of the shapes in a text of XLA, a list of texts: 128,512 of bf16[128,512]{1,0}.
CREATE MACRO _shape_dims(shapes) AS
list_transform(
    regexp_extract_all(
        shapes, '\b[a-z]+[0-9]*(?:e[0-9]m[0-9][a-z0-9]*)?\[([0-9, <=?]*)\]', 1
    ),
    LAMBDA dims: CASE trim(dims) WHEN '' THEN '[]' ELSE replace(dims, ' ', '') END
);

-- Types of the shapes in a text of XLA, a list of texts: bf16 of bf16[128,512]{1,0}.
CREATE MACRO _shape_dtypes(shapes) AS
regexp_extract_all(
    shapes, '\b([a-z]+[0-9]*(?:e[0-9]m[0-9][a-z0-9]*)?)\[[0-9, <=?]*\]', 1
);

-- One row per distinct description of an XLA operation's result: its shapes and types.
-- layout         VARCHAR  result with its layout (shape_with_layout)
-- instruction    VARCHAR  the whole instruction (long_name)
-- shape          VARCHAR  dimensions of the results, | between, like 128,512|64; [] for a scalar
-- dtype          VARCHAR  their types, | between
-- operand_shape  VARCHAR  dimensions of the operands
CREATE VIEW _op_shapes AS
WITH texts AS (
    SELECT DISTINCT layout, instruction FROM _xla_texts
),
parts AS (
    SELECT
        layout, instruction,
        CASE
            WHEN layout <> '' THEN layout
            WHEN NOT contains(instruction, '=') THEN instruction
            WHEN regexp_matches(instruction, '=\s*\(.*?\)\s*[a-z][\w.-]*\(')
                THEN regexp_extract(instruction, '=\s*\((.*?)\)\s*[a-z][\w.-]*\(', 1)
            ELSE regexp_extract(instruction, '=\s*(\w+\[[^\]]*\])', 1)
        END AS result,
        CASE
            -- The list of operands ends at the first name that a closing bracket follows.
            WHEN contains(instruction, '=') THEN regexp_replace(
                regexp_extract(
                    instruction, '=\s*(?:\(.*?\)|\w+\[[^\]]*\]\S*)\s+[a-z][\w.-]*\((.*)$', 1
                ),
                '(%[\w.-]+\)).*$', '\1'
            )
        END AS operands
    FROM texts
)
SELECT
    layout,
    instruction,
    nullif(array_to_string(_shape_dims(result), '|'), '') AS shape,
    nullif(array_to_string(_shape_dtypes(result), '|'), '') AS dtype,
    nullif(array_to_string(_shape_dims(operands), '|'), '') AS operand_shape
FROM parts;
