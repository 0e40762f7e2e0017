-- The sum of the numbers that a pattern's group finds in a text; NULL if it finds none, or the sum
-- exceeds 64 bits.
CREATE MACRO sum_of_matches(text, pattern) AS TRY_CAST(
    list_sum([
        TRY_CAST(digits AS BIGINT) FOR digits IN regexp_extract_all(text, pattern, 1)
    ]) AS BIGINT
);
