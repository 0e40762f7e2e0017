-- Pairs of query and indexed key of one request: all keys up to the query, or one for every ratio
-- tokens.
CREATE MACRO _request_index_pairs(kind, new_tokens, cached, ratio) AS CASE kind
    WHEN 'v4_top' THEN _floors(cached + new_tokens, ratio) - _floors(cached, ratio)
    WHEN 'dsa' THEN new_tokens * cached + new_tokens * (new_tokens + 1) // 2
    ELSE 0
END;
