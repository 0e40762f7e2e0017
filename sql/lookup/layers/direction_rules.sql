-- One row per name pattern that shows the direction of a part of a training step.
--
-- priority   INTEGER  order of evaluation, lowest first; the key
-- subject    VARCHAR  where the name is: annotation, or kernel as the last resort; unmarked kernel:
--                     only if the trace shows a backward pass and no annotated optimizer, and
--                     nothing else shows the kernel's direction
-- pattern    VARCHAR  regular expression (RE2) that the name contains
-- direction  VARCHAR  forward, backward, weight gradient or optimizer
-- comment    VARCHAR  where it was seen, with a name it catches
CREATE TABLE direction_rules (
    priority INTEGER PRIMARY KEY,
    subject VARCHAR NOT NULL,
    pattern VARCHAR NOT NULL,
    direction VARCHAR NOT NULL,
    comment VARCHAR
);
