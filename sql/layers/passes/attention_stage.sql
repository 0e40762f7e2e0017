-- The stage that an attention is of, by the shapes of its inputs, a list of lists in the order of
-- the slots: decode with up to eight tokens per request (one and its drafts), prefill with more.
-- Where no shape gives the requests, keys as many as the queries and not in a paged cache, or 100
-- tokens and more, are of a prefill, 50 and less of a decode; between them it is NULL.
CREATE MACRO attention_stage(shapes) AS CASE
    WHEN attention_tokens(shapes[1]) IS NULL THEN NULL
    WHEN attention_requests(shapes) > 0
        THEN CASE
            WHEN attention_tokens(shapes[1]) <= 8 * attention_requests(shapes) THEN 'decode'
            ELSE 'prefill'
        END
    WHEN len(shapes[2]) = 3 AND shapes[2][1] = shapes[1][1] THEN 'prefill'
    WHEN attention_tokens(shapes[1]) >= 100 THEN 'prefill'
    WHEN attention_tokens(shapes[1]) <= 50 THEN 'decode'
END;
