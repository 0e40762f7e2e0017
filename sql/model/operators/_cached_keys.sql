-- Cached keys of one request that its new tokens attend to, each read once.
CREATE MACRO _request_cached_keys(kind, new_tokens, cached, sees, ratio, top) AS CASE kind
    WHEN 'window' THEN least(cached, sees)
    WHEN 'dsa' THEN least(cached, new_tokens * top)
    WHEN 'v4_window' THEN least(cached, sees)
    WHEN 'v4_dense' THEN least(cached, sees) + cached // ratio
    WHEN 'v4_top' THEN least(cached, sees) + least(cached // ratio, new_tokens * top)
    ELSE cached
END;

-- Cached keys that new tokens attend to, each read once per request.
CREATE MACRO _cached_keys(kind, batch, new_tokens, cached, requests, sees, ratio, top) AS
_over_requests(
    requests, batch * _request_cached_keys(kind, new_tokens, cached, sees, ratio, top),
    lambda r: r.requests
        * _request_cached_keys(kind, r.new_tokens, r.cached_tokens, sees, ratio, top)
);
