-- The entries of a list of types or formats, whether it is JSON or has semicolons between them.
CREATE MACRO _tokens(listed) AS string_split(
    replace(translate(listed, '[]" ', ''), ',', ';'), ';'
);
