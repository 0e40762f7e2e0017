-- Possible reasons for a share above 100 %: the causes of the table over_100_causes that apply to
-- any of the given words, separated by semicolons. NULL if no words are given.
CREATE MACRO reasons_over_100(words) AS (
    SELECT string_agg(cause, ';' ORDER BY cause)
    FROM over_100_causes
    WHERE list_contains(words, applies_to)
);
