-- The words of over_100_causes that apply to the work of a layer or a pass, by its shares of the
-- bounds and what its FLOP are from: FLOP or bytes exceed their bound; for a roofline, either may.
CREATE MACRO _excesses(mfu, mbu, roofline_eff, sources, has_attention) AS list_concat(
    CASE
        WHEN mfu > 1 OR (roofline_eff > 1 AND coalesce(mbu, 0) <= 1)
            THEN list_concat(['always', 'any'], sources)
    END,
    CASE
        WHEN mbu > 1 OR (roofline_eff > 1 AND coalesce(mfu, 0) <= 1)
            THEN list_concat(['always', 'memory'], list_intersect(sources, ['annotation']))
    END,
    CASE WHEN has_attention AND greatest(mfu, mbu, roofline_eff) > 1 THEN ['attention'] END
);
