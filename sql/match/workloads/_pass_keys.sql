-- Keys that the new tokens of a pass meet. Unknown cached tokens are assumed to be none only where
-- the pass's pairs assume it, see _pass_notes; else the keys are unknown.
CREATE MACRO _pass_keys(new_tokens, cached_tokens, pairs) AS
    new_tokens + coalesce(cached_tokens, CASE WHEN pairs IS NOT NULL THEN 0 END);
