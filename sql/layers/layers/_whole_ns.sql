-- The nanoseconds of a time in microseconds that was made of whole ones. Their sum is exact,
-- whatever the order of the rows; that of doubles is not.
CREATE MACRO _whole_ns(us) AS
CAST(round(1000 * us) AS HUGEINT);
