-- A shape such as B S H in numbers, given its symbols.
CREATE MACRO _reference_shape_text(shape, symbols) AS
'[' || array_to_string(
    list_transform(
        string_split(shape, ' '), lambda word: coalesce(CAST(symbols[word] AS VARCHAR), word)
    ),
    '×'
) || ']';
