-- An operator's name without the namespace of PyTorch and without its overload: aten.mm.
CREATE MACRO _op_base(op_name) AS regexp_replace(
    regexp_replace(op_name, '^torch\.ops\.', ''), '^(\w+\.\w+)\.\w+$', '\1'
);
