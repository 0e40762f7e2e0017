-- One row per rule for the floating-point operations of a framework operator, by the shapes of its
-- inputs. Slots are places of arguments, from 0.
--
-- priority         INTEGER  order, the lowest that fits counts; the key
-- pattern          VARCHAR  regular expression (RE2) for the operator's name
-- rule             VARCHAR  product, convolution, convolution_backward or attention
-- factor           DOUBLE   multiplies the operations: 2.5 for the backward pass of attention
-- a_slot           INTEGER  first matrix, input of a convolution or its result's gradient, query
-- b_slot           INTEGER  second matrix, transposed or not; weights; key
-- v_slot           INTEGER  value; input of a convolution's backward
-- stride_slot      INTEGER  stride of a convolution
-- padding_slot     INTEGER  its padding
-- dilation_slot    INTEGER  its dilation
-- transposed_slot  INTEGER  whether it is transposed, NULL where it never is
-- mask_slot        INTEGER  of a backward: which gradients it computes
-- causal_slot      INTEGER  whether attention is causal
-- lengths_slot     INTEGER  bounds of sequences packed into one, whose lengths no shape tells
-- sequence_axis    INTEGER  which dimension of the query counts tokens, from 1; the heads' is the
--                           other of 2 and 3
-- comment          VARCHAR  why
CREATE TABLE flop_rules (
    priority INTEGER PRIMARY KEY,
    pattern VARCHAR NOT NULL,
    rule VARCHAR NOT NULL,
    factor DOUBLE NOT NULL,
    a_slot INTEGER NOT NULL,
    b_slot INTEGER NOT NULL,
    v_slot INTEGER,
    stride_slot INTEGER,
    padding_slot INTEGER,
    dilation_slot INTEGER,
    transposed_slot INTEGER,
    mask_slot INTEGER,
    causal_slot INTEGER,
    lengths_slot INTEGER,
    sequence_axis INTEGER,
    comment VARCHAR
);
