-- What a file's clock shows at recorded_at, ns: the start of the first event, less what recorded_at
-- lacks of it, since it has whole microseconds. Two times rounded down would add up to 1 µs less.
CREATE MACRO _clock_ns(recorded_at_source, base_time_ns, start_ns) AS
start_ns - if(
    recorded_at_source = 'clock',
    (coalesce(base_time_ns, 0) % 1000 + start_ns % 1000 + 1000) % 1000, 0
);
