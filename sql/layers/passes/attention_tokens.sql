-- The number of tokens in the query of an attention, by its shape, a list of dimensions: (tokens,
-- heads, dimension), (tokens, hidden), (batch, heads, 1, dimension), (batch, 1, heads, dimension),
-- or with a sequence in place of the 1. Three dimensions whose last is too wide for a head, or
-- whose second cannot be a number of heads, are (batch, sequence, hidden).
CREATE MACRO attention_tokens(query) AS CASE len(query)
    WHEN 2 THEN query[1]
    WHEN 3
        THEN query[1] * CASE WHEN query[3] > 1024 OR query[2] > 256 THEN query[2] ELSE 1 END
    WHEN 4
        THEN query[1]
            * CASE WHEN query[2] = 1 OR query[3] = 1 THEN 1 ELSE greatest(query[2], query[3]) END
END;
