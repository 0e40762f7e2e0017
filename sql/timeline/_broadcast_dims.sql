-- The shape that tensors of some shapes, each a list, are broadcast to: the last dimensions are
-- matched, and one that is missing or 1 is repeated. NULL in the place of dimensions that do not
-- fit.
CREATE MACRO _broadcast_dims(shapes) AS
list_transform(
    range(coalesce(list_max(list_transform(shapes, LAMBDA shape: len(shape))), 0), 0, -1),
    LAMBDA place: list_reduce(
        list_transform(shapes, LAMBDA shape: coalesce(shape[-place], 1)),
        LAMBDA one, other: CASE
            WHEN one = other OR other = 1 THEN one
            WHEN one = 1 THEN other
        END
    )
);
