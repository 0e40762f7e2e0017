-- One row per rule for what a kernel of an Ascend device marks in a forward pass. Of the rules
-- whose pattern a kernel's type contains, the one of lowest priority applies.
--
-- priority  INTEGER  order of evaluation, lowest first; the key
-- pattern   VARCHAR  regular expression (RE2) that the kernel's type contains
-- mark      VARCHAR  anchor: attention, once or more in each layer; residual: a norm that also adds
--                    the residual, which opens a half of a layer; closing: the same, fused after
--                    the product that ends the previous half; norm: any other norm of the hidden
--                    state; head: first kernel of a pass; tail: sampling; receive and send: from
--                    and to another pipeline stage; expert: of a mixture of experts; none: nothing,
--                    even if a later pattern matches
-- min_rows  BIGINT   rows that the first input must have, in two dimensions; NULL: not checked
-- comment   VARCHAR  why
CREATE TABLE ascend_marks (
    priority INTEGER PRIMARY KEY,
    pattern VARCHAR NOT NULL,
    mark VARCHAR NOT NULL,
    min_rows BIGINT,
    comment VARCHAR
);
