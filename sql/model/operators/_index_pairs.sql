-- Pairs of query and indexed key of one request: all keys up to the query, or one per ratio tokens.
CREATE MACRO _request_index_pairs(kind, new_tokens, cached, ratio) AS CASE kind
    WHEN 'v4_top' THEN _floors(cached + new_tokens, ratio) - _floors(cached, ratio)
    WHEN 'dsa' THEN new_tokens * cached + new_tokens * (new_tokens + 1) // 2
    ELSE 0
END;

-- Pairs of query and indexed key of all requests: groups of equal ones, or a batch if these are
-- NULL.
CREATE MACRO _index_pairs(kind, batch, new_tokens, cached, requests, ratio) AS
    CASE
        WHEN requests IS NULL
            THEN batch * _request_index_pairs(kind, new_tokens, cached, ratio)
        ELSE CAST(
            list_sum(
                list_transform(
                    requests,
                    lambda r: r.requests * _request_index_pairs(
                        kind, r.new_tokens, r.cached_tokens, ratio
                    )
                )
            ) AS BIGINT
        )
    END;
