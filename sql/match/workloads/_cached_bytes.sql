-- Bytes that the cache has of a token's key and value: new ones are inputs of the operator, and the
-- cache may hold them in one byte each.
CREATE MACRO _cached_bytes(token_bytes, new_key_bytes, is_fp8) AS
    CASE WHEN is_fp8 THEN token_bytes / greatest(new_key_bytes, 1) ELSE token_bytes END;
