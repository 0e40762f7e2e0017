-- One row per name of an element type, as profilers spell it or abbreviated: its size.
--
-- key: dtype
--
-- dtype          VARCHAR  the name
-- element_bytes  DOUBLE   size of an element, bytes: the minimum over its spellings, since some
--                         mean a byte that packs two
CREATE VIEW element_sizes AS
WITH names AS (
    SELECT token AS dtype, bytes FROM dtypes
    UNION ALL
    SELECT dtype, bytes FROM dtypes
)
SELECT dtype, min(bytes) AS element_bytes
FROM names
GROUP BY dtype;
