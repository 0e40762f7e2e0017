-- The sum of the numbers that the group of a pattern finds in a text; NULL where it finds none.
CREATE MACRO _sum_of_matches(text, pattern) AS CAST(
    list_sum([
        TRY_CAST(digits AS BIGINT) FOR digits IN regexp_extract_all(text, pattern, 1)
    ]) AS BIGINT
);
