-- The text of an Ascend profiler's cell without padding, NULL if it is N/A or empty. Few cells have
-- padding, and checking is faster than stripping.
CREATE MACRO _ascend_text(cell) AS
    CASE
        WHEN
            contains(cell, ' ')
            OR contains(cell, '"')
            OR contains(cell, chr(9))
            OR contains(cell, chr(13))
            OR contains(cell, chr(10))
            THEN nullif(
                nullif(trim(cell, ' ' || chr(9) || chr(13) || chr(10) || '"'), ''), 'N/A'
            )
        ELSE nullif(nullif(cell, ''), 'N/A')
    END;
