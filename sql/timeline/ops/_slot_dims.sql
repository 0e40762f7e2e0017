-- The dimensions of the input in a slot, from a JSON text with those of all inputs; NULL if there
-- is none, or a list of tensors instead, or the text is not JSON. No device holds 2^48 elements:
-- more, or negative dimensions, are not a shape.
CREATE MACRO _slot_dims(input_dims, slot) AS
list_filter(
    [TRY_CAST(json_extract(TRY_CAST(input_dims AS JSON), '$[' || slot || ']') AS BIGINT[])],
    LAMBDA dims: len(dims) = 0 OR list_min(dims) >= 0 AND list_product(dims) < pow(2, 48)
)[1];
