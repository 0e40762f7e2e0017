-- Keys that the KV cache holds for one request of the given number of tokens: a window keeps the
-- latest; V4 also keeps one per ratio tokens, V4's indexer only these.
CREATE MACRO _request_resident_keys(kind, total, sees, ratio) AS CASE kind
    WHEN 'window' THEN least(total, sees)
    WHEN 'v4_window' THEN least(total, sees)
    WHEN 'v4_dense' THEN least(total, sees) + total // ratio
    WHEN 'v4_top' THEN least(total, sees) + total // ratio
    WHEN 'index' THEN total // greatest(ratio, 1)
    ELSE total
END;

-- Keys that the KV cache holds for all requests after the pass.
CREATE MACRO _resident_keys(kind, batch, new_tokens, cached, requests, sees, ratio) AS
_over_requests(
    requests, batch * _request_resident_keys(kind, cached + new_tokens, sees, ratio),
    lambda r: r.requests * _request_resident_keys(kind, r.cached_tokens + r.new_tokens, sees, ratio)
);
