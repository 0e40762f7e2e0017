-- Shapes that the reference reads from an instruction: of the result, where it finds one, else the
-- first eight; types of 8 bytes and of fp8, and scalars, are lost to it.
CREATE MACRO _reference_shape(instruction) AS
nullif(array_to_string(
    list_transform(
        list_filter(
            CASE
                WHEN regexp_matches(instruction, '=\s*\(.*?\)\s*[a-z][\w.-]*\(')
                    THEN _reference_dims(
                        regexp_extract(instruction, '=\s*\((.*?)\)\s*[a-z][\w.-]*\(', 1)
                    )
                WHEN regexp_matches(instruction, '=\s*\w+\[[^\]]*\]')
                    THEN _reference_dims(regexp_extract(instruction, '=\s*(\w+\[[^\]]*\])', 1))
                ELSE list_slice(_reference_dims(instruction), 1, 8)
            END,
            LAMBDA dims: trim(dims) <> ''
        ),
        LAMBDA dims: replace(dims, ' ', '')
    ), '|'
), '');
