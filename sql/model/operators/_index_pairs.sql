-- Pairs of query and indexed key of one request: all keys up to the query, or one per ratio tokens.
CREATE MACRO _request_index_pairs(kind, new_tokens, cached, ratio) AS CASE kind
    WHEN 'v4_top' THEN _floors(cached + new_tokens, ratio) - _floors(cached, ratio)
    WHEN 'dsa' THEN new_tokens * cached + new_tokens * (new_tokens + 1) // 2
    ELSE 0
END;

-- Pairs of query and indexed key of all requests.
CREATE MACRO _index_pairs(kind, batch, new_tokens, cached, requests, ratio) AS
_over_requests(
    requests, batch * _request_index_pairs(kind, new_tokens, cached, ratio),
    lambda r: r.requests * _request_index_pairs(kind, r.new_tokens, r.cached_tokens, ratio)
);
