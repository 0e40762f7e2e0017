-- The dimensions of the input in a slot, of a JSON text with all of them; NULL if there is none,
-- or a list of tensors in its place, or a text that is no JSON. No device holds 2^48 elements:
-- dimensions of more, or below zero, are no shape.
CREATE MACRO _slot_dims(input_dims, slot) AS
list_filter(
    [TRY_CAST(json_extract(TRY_CAST(input_dims AS JSON), '$[' || slot || ']') AS BIGINT[])],
    LAMBDA dims: len(dims) = 0 OR list_min(dims) >= 0 AND list_product(dims) < pow(2, 48)
)[1];
