-- Dimensions of the shapes in a text whose types the reference knows, a list of texts.
CREATE MACRO _reference_dims(shapes) AS
regexp_extract_all(shapes, '\b(?:bf16|f32|f16|s32|u32|s8|u8|pred)\[([^\]]+)\]', 1);
