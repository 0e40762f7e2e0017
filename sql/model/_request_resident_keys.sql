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
