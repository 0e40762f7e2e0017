-- Cached keys of one request that its new tokens look at, each read once.
CREATE MACRO _request_cached_keys(kind, new_tokens, cached, sees, ratio, top) AS CASE kind
    WHEN 'window' THEN least(cached, sees)
    WHEN 'dsa' THEN least(cached, new_tokens * top)
    WHEN 'v4_window' THEN least(cached, sees)
    WHEN 'v4_dense' THEN least(cached, sees) + cached // ratio
    WHEN 'v4_top' THEN least(cached, sees) + least(cached // ratio, new_tokens * top)
    ELSE cached
END;
