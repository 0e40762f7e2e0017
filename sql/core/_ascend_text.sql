-- What an Ascend profiler says in a cell: its text without what writers leave around it, NULL where
-- it says N/A or nothing. Few cells have anything to take off, and looking is quicker than taking.
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
