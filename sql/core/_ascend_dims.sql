-- Shapes of an Ascend table as JSON: a list per slot, [] for a scalar, null for an absent tensor.
--
-- Slots are parted by semicolons. An empty one is a scalar where its type is known, and no tensor
-- where the type is undefined. A last empty slot that no type belongs to is none.
CREATE MACRO _ascend_dims(shapes, types) AS
    CASE
        WHEN shapes IS NULL OR shapes = 'N/A' THEN NULL
        WHEN
            shapes <> ''
            AND shapes[1] <> ';'
            AND shapes[-1] <> ';'
            AND NOT contains(shapes, ';;')
            AND NOT contains(shapes, '(')
            AND len(shapes) - len(replace(shapes, ';', ''))
                >= len(coalesce(types, '')) - len(replace(coalesce(types, ''), ';', ''))
            THEN '[[' || replace(shapes, ';', '],[') || ']]'
        ELSE
            '[' || array_to_string(
                list_transform(
                    range(
                        1,
                        1 + CASE
                            WHEN
                                shapes[-1] = ';'
                                AND len(string_split(shapes, ';'))
                                    = len(string_split(types, ';')) + 1
                                THEN len(string_split(types, ';'))
                            ELSE
                                greatest(
                                    len(string_split(shapes, ';')),
                                    coalesce(len(string_split(types, ';')), 0)
                                )
                        END
                    ),
                    LAMBDA slot: CASE
                        WHEN coalesce(string_split(shapes, ';')[slot], '') NOT IN ('', '()')
                            THEN '[' || string_split(shapes, ';')[slot] || ']'
                        WHEN
                            string_split(shapes, ';')[slot] = '()'
                            OR string_split(types, ';')[slot]
                                NOT IN ('UNDEFINED', 'DT_UNDEFINED', 'N/A', '')
                            THEN '[]'
                        ELSE 'null'
                    END
                ),
                ','
            ) || ']'
    END;
