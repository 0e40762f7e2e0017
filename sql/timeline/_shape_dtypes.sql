-- Types of the shapes in a text of XLA, a list of texts: bf16 of bf16[128,512]{1,0}.
CREATE MACRO _shape_dtypes(shapes) AS
regexp_extract_all(
    shapes, '\b([a-z]+[0-9]*(?:e[0-9]m[0-9][a-z0-9]*)?)\[[0-9, <=?]*\]', 1
);
