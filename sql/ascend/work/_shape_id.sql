-- A number for what a kernel works on: equal for kernels of equal type, shapes, types and formats.
CREATE MACRO _shape_id(
    op_type, input_dims, input_types, input_formats, output_dims, output_types, output_formats
) AS hash(
    op_type, input_dims, input_types, input_formats, output_dims, output_types, output_formats
);
