-- The value of a sum of products such as 2 B S H + 4 B, given its symbols; NULL for one unknown.
CREATE MACRO _reference_products(formula, symbols) AS
list_sum(list_transform(
    string_split(formula, ' + '),
    lambda term: list_reduce(
        list_transform(
            string_split(term, ' '),
            lambda word: coalesce(
                CAST(symbols[word] AS HUGEINT), TRY_CAST(word AS HUGEINT)
            )
        ),
        lambda one, other: one * other
    )
));
