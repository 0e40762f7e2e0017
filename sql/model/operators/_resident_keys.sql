-- Keys that the KV cache holds of one request with so many tokens: a window keeps the latest, V4
-- beside them one for every ratio tokens; of V4's indexer these alone.
CREATE MACRO _request_resident_keys(kind, total, sees, ratio) AS CASE kind
    WHEN 'window' THEN least(total, sees)
    WHEN 'v4_window' THEN least(total, sees)
    WHEN 'v4_dense' THEN least(total, sees) + total // ratio
    WHEN 'v4_top' THEN least(total, sees) + total // ratio
    WHEN 'index' THEN total // greatest(ratio, 1)
    ELSE total
END;

-- Keys that the KV cache holds of all requests after the pass: groups of equal ones, or a batch
-- where there are none.
CREATE MACRO _resident_keys(kind, batch, new_tokens, cached, requests, sees, ratio) AS
    CASE
        WHEN requests IS NULL
            THEN batch * _request_resident_keys(kind, cached + new_tokens, sees, ratio)
        ELSE CAST(
            list_sum(
                list_transform(
                    requests,
                    lambda r: r.requests * _request_resident_keys(
                        kind, r.cached_tokens + r.new_tokens, sees, ratio
                    )
                )
            ) AS BIGINT
        )
    END;
