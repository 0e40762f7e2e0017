-- One row per category ("cat") that Kineto and its plug-ins give events: where such events happen,
-- and what they are. A category without a row is the host's, and a call if it shares an id with
-- what it launched. Lanes are assigned at ingest, from the shipped rows.
--
-- category  VARCHAR  category, in lower case; the key
-- lane      VARCHAR  device or host
-- role      VARCHAR  operation (of a device), annotation, call (that may launch an operation),
--                    operator, wait, counter or overhead
-- comment   VARCHAR  whose events
CREATE TABLE event_categories (
    category VARCHAR PRIMARY KEY,
    lane VARCHAR NOT NULL,
    role VARCHAR NOT NULL,
    comment VARCHAR
);
