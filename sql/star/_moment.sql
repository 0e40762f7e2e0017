-- When something was, as a timestamp in UTC: as long after recorded_at as it is after clock_ns, the
-- same moment on the file's clock. Whole microseconds, rounded down.
CREATE MACRO _moment(recorded_at, clock_ns, at_ns) AS
recorded_at + to_microseconds((at_ns - clock_ns) // 1000);
