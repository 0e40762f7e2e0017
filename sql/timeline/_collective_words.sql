-- One row per word that tells the kind of a collective: rules are tried once per distinct word.
--
-- word  VARCHAR  name in lower case
-- kind  VARCHAR  kind of collective, by collective_rules
CREATE VIEW _collective_words AS
WITH words AS (
    SELECT DISTINCT unnest(words) AS word FROM _collective_parts
)
SELECT words.word, arg_min(collective_rules.kind, collective_rules.priority) AS kind
FROM words
JOIN collective_rules ON regexp_matches(words.word, collective_rules.pattern)
GROUP BY words.word;
