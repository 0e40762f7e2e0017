-- Shapes in a readable form, 16,5120;5120,1536, from JSON lists of dimensions; other text loses its
-- quotes, brackets and spaces.
CREATE MACRO _shape_key(shapes) AS CASE
    WHEN json_valid(shapes) AND starts_with(shapes, '[') THEN array_to_string(
        list_transform(
            CAST(CAST(shapes AS JSON) AS JSON[]),
            lambda slot: translate(CAST(coalesce(slot, '[]') AS VARCHAR), '[]()" nul', '')
        ),
        ';'
    )
    ELSE translate(shapes, '"'' ()[]', '')
END;
