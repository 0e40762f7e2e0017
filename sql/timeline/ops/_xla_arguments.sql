-- The description of an XLA operation, without its times: a list of texts from its arguments.
CREATE MACRO _xla_arguments(args) AS json_extract_string(
    args,
    [
        '$.hlo_category', '$.tf_op', '$.long_name', '$.shape_with_layout', '$.deduplicated_name',
        '$.model_flops', '$.bytes_accessed', '$.hlo_module', '$.source', '$.name'
    ]
);
