-- One row per rule for the work of a framework operator: which operators, what is computed, and
-- from which of their inputs.
--
-- Slots count inputs from 0. Names are matched once per distinct operator of a trace; the match of
-- lowest priority applies. An operator gives way to operators inside it of the named families: one
-- call shows as linear, matmul and mm, and is counted once. Rules of the family memory give only
-- bytes.
--
-- priority           INTEGER  order: the lowest match applies; the key
-- pattern            VARCHAR  regular expression (RE2) for the operator's name
-- rule               VARCHAR  matmul, linear, marlin, template, batched_template, grouped, conv,
--                             conv_backward, attention, pass_attention, mla_attention, fused_moe,
--                             opaque_moe or memory
-- family             VARCHAR  product, conv, sdpa, attention, moe or memory
-- gives_way          VARCHAR  families that replace it when they are inside, separated by
--                             semicolons
-- factor             DOUBLE   multiplies the FLOP: 2.5 for the backward pass of attention; NULL if
--                             the shapes do not give them
-- a_slot             INTEGER  first matrix, input of a convolution, query, or rows to route
-- b_slot             INTEGER  second matrix, weight, key, or first weights of experts
-- v_slot             INTEGER  value, rotary part of a latent, or second weights of experts
-- out_slot           INTEGER  result if it is an input; for experts the selection, whose last
--                             dimension is top-k; for pass_attention the part of the query that
--                             scores the values, shaped as the result
-- layout             VARCHAR  of an attention: heads_first, tokens_first, packed, split_keys
-- causal_slot        INTEGER  argument for whether a mask hides later keys
-- corner             VARCHAR  where the mask's diagonal starts: top (left) or bottom (right)
-- window_slot        INTEGER  argument with the number of earlier keys that a query sees
-- lengths_slot       INTEGER  bounds of packed sequences or groups, whose lengths are in no shape;
--                             for experts the argument with the number of ranks that share them,
--                             or whether several do
-- stride_slot        INTEGER  argument with the stride of a convolution
-- padding_slot       INTEGER  its padding
-- dilation_slot      INTEGER  its dilation
-- transposed_slot    INTEGER  whether it is transposed; NULL if it never is
-- mask_slot          INTEGER  for a convolution's backward: which gradients it computes
-- elements_per_item  INTEGER  values in one stored element along the inner dimension, if the type
--                             of the elements does not show it
-- types_decide       BOOLEAN  both operands are inputs: their types determine the arithmetic type
-- reads              VARCHAR  inputs read, separated by semicolons; all; or the part of the first
--                             one that the next one selects: rows, elements, or a selection along
--                             some dimension; for an attention the input that, where it is given,
--                             has the number of keys of a cache that each sequence reads
-- writes             VARCHAR  inputs written, separated by semicolons; a:b for as many elements of
--                             input b as input a has; result: one more tensor, as large as the
--                             broadcast inputs read, if no later input is the result; for an
--                             attention the input that the result is written to
-- typed_by           VARCHAR  inputs whose types decide that of the result, separated by
--                             semicolons; NULL: all those read
-- result             VARCHAR  type of the result: promoted, as type_promotions has it; of these,
--                             float, quotient, sum, real, bool, indexed (with as many int64) or a
--                             type
-- dtype_slot         INTEGER  argument that may give the result another type: the type's number,
--                             as scalar_type of type_promotions, or True for FP32
-- dim_slot           INTEGER  argument with the dimension along which a selection is made
-- comment            VARCHAR  why
CREATE TABLE trace_op_rules (
    priority INTEGER PRIMARY KEY,
    pattern VARCHAR NOT NULL,
    rule VARCHAR NOT NULL,
    family VARCHAR NOT NULL,
    gives_way VARCHAR,
    factor DOUBLE,
    a_slot INTEGER,
    b_slot INTEGER,
    v_slot INTEGER,
    out_slot INTEGER,
    layout VARCHAR,
    causal_slot INTEGER,
    corner VARCHAR,
    window_slot INTEGER,
    lengths_slot INTEGER,
    stride_slot INTEGER,
    padding_slot INTEGER,
    dilation_slot INTEGER,
    transposed_slot INTEGER,
    mask_slot INTEGER,
    elements_per_item INTEGER,
    types_decide BOOLEAN,
    reads VARCHAR,
    writes VARCHAR,
    typed_by VARCHAR,
    result VARCHAR,
    dtype_slot INTEGER,
    dim_slot INTEGER,
    comment VARCHAR
);
