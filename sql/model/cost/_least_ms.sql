-- Minimum time of rows of phase_roofline and module_roofline, ms: the longest of the three, with
-- perfect overlap. NULL if one of them is unknown.
CREATE MACRO _least_ms(t) AS
    CASE
        WHEN t.compute_ms + t.hbm_ms + t.net_ms IS NOT NULL
            THEN greatest(t.compute_ms, t.hbm_ms, t.net_ms)
    END;
