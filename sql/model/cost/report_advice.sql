-- One row per sentence that applies to the numbers of a model report: rules of report_rules whose
-- conditions all hold on report_facts, the first of each slot.
--
-- key: rule
--
-- rule      VARCHAR  rule
-- place     VARCHAR  part of the report that it appears in
-- priority  INTEGER  order where no gain gives one
-- gain_pct  DOUBLE   gain that it promises, %; NULL: unknown
-- text      VARCHAR  the sentence; facts of report_facts in braces
CREATE VIEW report_advice AS
WITH verdicts AS (
    SELECT
        rule,
        bool_and(
            f.fact IS NOT NULL
            AND (c.above IS NULL OR coalesce(f.value > c.above, FALSE))
            AND (c.at_most IS NULL OR coalesce(f.value <= c.at_most, FALSE))
            AND (
                c.words IS NULL
                OR coalesce(list_contains(string_split(c.words, '|'), f.words), FALSE)
            )
        ) AS holds
    FROM report_conditions AS c
    LEFT JOIN report_facts AS f USING (fact)
    GROUP BY rule
)
SELECT r.rule, r.place, r.priority, g.value AS gain_pct, coalesce(r.text, s.text) AS text
FROM report_rules AS r
JOIN verdicts AS v ON v.rule = r.rule AND v.holds
LEFT JOIN report_facts AS g ON g.fact = r.gain
LEFT JOIN _report_sentences AS s ON s.rule = r.rule
QUALIFY row_number() OVER (
    PARTITION BY r.place, coalesce(r.slot, r.rule) ORDER BY r.priority, r.rule
) = 1;
