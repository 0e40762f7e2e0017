-- The text of the input in a slot, from a JSON text with all inputs.
CREATE MACRO _slot_text(inputs, slot) AS
json_extract_string(TRY_CAST(inputs AS JSON), '$[' || slot || ']');
