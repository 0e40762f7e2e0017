-- Products of all stretches of a list of numbers: 2, 3, 4, 6, 12, 24 of [2, 3, 4].
CREATE MACRO _runs(dims) AS
list_distinct(flatten(list_transform(
    range(1, len(dims) + 1),
    LAMBDA first: list_transform(
        range(first, len(dims) + 1),
        LAMBDA last: CAST(list_product(dims[first:last]) AS BIGINT)
    )
)));
