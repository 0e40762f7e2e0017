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
