-- One row per name of a type of elements, as profilers spell it or in short, and its size.
--
-- key: dtype
--
-- dtype          VARCHAR  the name
-- element_bytes  DOUBLE   size of an element, bytes: the least of its spellings, since some
--                        name a byte that packs two
CREATE VIEW element_sizes AS
WITH names AS (
    SELECT token AS dtype, bytes FROM dtypes
    UNION ALL
    SELECT dtype, bytes FROM dtypes
)
SELECT dtype, min(bytes) AS element_bytes
FROM names
GROUP BY dtype;
