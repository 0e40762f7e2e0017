-- Name of the half that starts the collective of which an operation of XLA is a half: the operand
-- of a done half in its instruction (long_name), else by its own name.
CREATE MACRO collective_start(name, instruction) AS
coalesce(
    nullif(regexp_extract(instruction, '-done\([^%]*%([\w.-]+)', 1), ''),
    regexp_replace(replace(ltrim(name, '%'), '-done', '-start'), '^(send|recv)-start', '\1')
);
