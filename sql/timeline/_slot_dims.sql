-- The dimensions of the input in a slot, of a JSON text with all of them; NULL where there is none,
-- or a list of tensors in its place.
CREATE MACRO _slot_dims(input_dims, slot) AS
TRY_CAST(json_extract(input_dims, '$[' || slot || ']') AS BIGINT[]);
