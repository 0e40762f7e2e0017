-- The stage of an attention, by the shapes of its inputs, a list of lists in slot order: decode
-- with up to eight tokens per request (one and its drafts), prefill with more. If no shape gives
-- the number of requests, it is a prefill with as many keys as queries outside a paged cache, or
-- with 100 tokens or more, and a decode with 50 or fewer; in between it is NULL.
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
