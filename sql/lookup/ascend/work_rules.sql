-- One row per rule for the work of a kernel by its own shapes: what is computed from which of its
-- tensors, and which of them it accesses only in part. Slots count from 0.
--
-- priority       INTEGER  order: the lowest match applies; the key
-- pattern        VARCHAR  regular expression (RE2) for the folded type in lower case
-- rule           VARCHAR  matmul, transposed_matmul, grouped_matmul, collective_matmul,
--                         exchanging_matmul (then an all-to-all), exchanged_matmul (an all-to-all
--                         before), attention or paged_attention; NULL if the FLOP are not computed
-- factor         DOUBLE   multiplies the FLOP: 2.5 for the backward pass of attention
-- a_slot         INTEGER  input: first matrix, rows to route, or query
-- b_slot         INTEGER  input: second matrix, weights, or key
-- v_slot         INTEGER  input: value
-- table_slot     INTEGER  input: block table of a paged cache
-- length_slot    INTEGER  input: lengths, one per request
-- rope_slot      INTEGER  input: rotary part of the query, if it is separate
-- moves          VARCHAR  what is moved of the inputs in part_slots: gathered (as much as is
--                         output), written (nothing is read; as much of the outputs is written as
--                         is in payload_slots), keys (those of the requests), experts (those with
--                         rows; unknown without slots), unknown (no shape gives it); NULL: every
--                         tensor once, whole
-- part_slots     VARCHAR  inputs accessed in part, separated by semicolons
-- payload_slots  VARCHAR  inputs that are written into the table, separated by semicolons
-- caveat         VARCHAR  what the sum of its tensors' bytes omits or overcounts
-- comment        VARCHAR  why
CREATE TABLE work_rules (
    priority INTEGER PRIMARY KEY,
    pattern VARCHAR NOT NULL,
    rule VARCHAR,
    factor DOUBLE,
    a_slot INTEGER,
    b_slot INTEGER,
    v_slot INTEGER,
    table_slot INTEGER,
    length_slot INTEGER,
    rope_slot INTEGER,
    moves VARCHAR,
    part_slots VARCHAR,
    payload_slots VARCHAR,
    caveat VARCHAR,
    comment VARCHAR
);
