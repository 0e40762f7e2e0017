-- Pairs of query and key of all requests: groups of equal ones, or where these are NULL a batch.
CREATE MACRO _pairs(kind, batch, new_tokens, cached, requests, sees, ratio, top) AS
    CASE
        WHEN requests IS NULL
            THEN batch * _request_pairs(kind, new_tokens, cached, sees, ratio, top)
        ELSE CAST(
            list_sum(
                list_transform(
                    requests,
                    lambda r: r.requests * _request_pairs(
                        kind, r.new_tokens, r.cached_tokens, sees, ratio, top
                    )
                )
            ) AS BIGINT
        )
    END;
