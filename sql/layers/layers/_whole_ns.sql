-- The whole nanoseconds that a time in microseconds was computed from. Their sum is exact in any
-- order of the rows; that of doubles is not.
CREATE MACRO _whole_ns(us) AS
CAST(round(1000 * us) AS HUGEINT);
