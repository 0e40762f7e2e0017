-- One row per cause of device idleness, judged by the operation that ends it.
--
-- cause       VARCHAR  name of the cause; the key
-- host_bound  BOOLEAN  the device waits for the host
-- meaning     VARCHAR  what the trace shows
-- advice      VARCHAR  what to look at next
CREATE TABLE idle_rules (
    cause VARCHAR PRIMARY KEY,
    host_bound BOOLEAN NOT NULL,
    meaning VARCHAR NOT NULL,
    advice VARCHAR
);
