-- The whole nanoseconds of a time in microseconds that was computed from them. Their sum is exact
-- in any order of the rows; that of doubles is not.
CREATE MACRO _whole_ns(us) AS
CAST(round(1000 * us) AS HUGEINT);
