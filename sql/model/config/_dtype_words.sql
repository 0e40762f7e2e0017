-- One row per word that a config.json may use for a type of weights: profilers' names, tracelake's
-- names, and names with the prefix torch.
--
-- word   VARCHAR  the word, in lower case; the key
-- dtype  VARCHAR  the type, as the table dtypes calls it
CREATE VIEW _dtype_words AS
WITH words AS (
    SELECT unnest([token, dtype, 'torch.' || token]) AS word, dtype FROM dtypes WHERE bytes > 0
)
SELECT word, min(dtype) AS dtype FROM words GROUP BY word;
