-- Sum of least(cap, j) for j from 1 to last: keys seen by the first tokens if each sees at most
-- cap.
CREATE MACRO _capped_keys(last, cap) AS
    least(last, cap) * (least(last, cap) + 1) // 2 + greatest(last - cap, 0) * cap;

-- Sum of least(top, floor(j / ratio)) for j from 1 to last.
CREATE MACRO _capped_floors(last, ratio, top) AS
    _floors(least(last, ratio * top), ratio)
    + greatest(last - ratio * top, 0) * top;

-- Pairs of query and key of one request, each query with the keys up to itself: new tokens after
-- cached ones. A window keeps the latest keys; an indexer the top best of them; V4 adds to its
-- window one key per ratio tokens, all of these or the top best. An encoder's queries see all keys,
-- or half a window on either side of their own.
CREATE MACRO _request_pairs(kind, new_tokens, cached, sees, ratio, top) AS CASE kind
    WHEN 'window'
        THEN _capped_keys(cached + new_tokens, sees) - _capped_keys(cached, sees)
    WHEN 'gqa both ways' THEN new_tokens * (cached + new_tokens)
    WHEN 'window both ways'
        THEN new_tokens + least(sees // 2, new_tokens - 1)
            * (2 * new_tokens - 1 - least(sees // 2, new_tokens - 1))
    WHEN 'dsa'
        THEN _capped_keys(cached + new_tokens, top) - _capped_keys(cached, top)
    WHEN 'v4_window'
        THEN _capped_keys(cached + new_tokens, sees) - _capped_keys(cached, sees)
    WHEN 'v4_dense'
        THEN _capped_keys(cached + new_tokens, sees) - _capped_keys(cached, sees)
            + _floors(cached + new_tokens, ratio) - _floors(cached, ratio)
    WHEN 'v4_top'
        THEN _capped_keys(cached + new_tokens, sees) - _capped_keys(cached, sees)
            + _capped_floors(cached + new_tokens, ratio, top) - _capped_floors(cached, ratio, top)
    ELSE new_tokens * cached + new_tokens * (new_tokens + 1) // 2
END;

-- Pairs of query and key of all requests.
CREATE MACRO _pairs(kind, batch, new_tokens, cached, requests, sees, ratio, top) AS
_over_requests(
    requests, batch * _request_pairs(kind, new_tokens, cached, sees, ratio, top),
    lambda r: r.requests * _request_pairs(kind, r.new_tokens, r.cached_tokens, sees, ratio, top)
);
