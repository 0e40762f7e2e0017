-- When something was, as a timestamp in UTC: as long after the trace's first event, which is at
-- origin_ns on the file's clock and at recorded_at on the calendar's. Whole microseconds, rounded
-- down.
CREATE MACRO _moment(recorded_at, origin_ns, at_ns) AS
recorded_at + to_microseconds((at_ns - origin_ns) // 1000);
