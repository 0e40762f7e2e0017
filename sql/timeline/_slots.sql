-- The numbers in a list of slots, ; between; none of a word or of NULL.
CREATE MACRO _slots(listed) AS
list_filter(
    list_transform(
        string_split(coalesce(listed, ''), ';'), LAMBDA slot: TRY_CAST(slot AS BIGINT)
    ),
    LAMBDA slot: slot IS NOT NULL
);
