-- One row per set of types of elements that PyTorch holds in one type: the lattice of its
-- promotion.
--
-- A type's mask has the bits of all types that it holds, so the bits of two types together are
-- those of the type that their values are promoted to; no row, and PyTorch refuses. Bits: 1 bool;
-- 2, 4, 16, 32, 64, 128, 256 integers; 512, 1024, 2048, 8192 numbers with a fraction; 4096 complex
-- numbers.
--
-- mask     INTEGER  the bits; the key
-- dtype    VARCHAR  the type, as in dtypes
-- comment  VARCHAR  why
CREATE TABLE type_promotions (
    mask INTEGER PRIMARY KEY,
    dtype VARCHAR NOT NULL,
    comment VARCHAR
);
