-- One row per element type of PyTorch and the set of types that it can hold: the lattice of type
-- promotion.
--
-- A type's mask has the bits of all types that it can hold, so the bitwise OR of two masks is that
-- of the type they are promoted to; without such a row PyTorch raises an error. Bits: 1 bool; 2, 4,
-- 16, 32, 64, 128, 256 integers; 512, 1024, 2048, 8192 numbers with a fraction; 4096 complex
-- numbers.
--
-- mask         INTEGER  the bits; the key
-- dtype        VARCHAR  the type, as in dtypes
-- scalar_type  INTEGER  its number as an argument of operators (c10::ScalarType); NULL if several
--                       types of PyTorch are this one
-- comment      VARCHAR  why
CREATE TABLE type_promotions (
    mask INTEGER PRIMARY KEY,
    dtype VARCHAR NOT NULL,
    scalar_type INTEGER,
    comment VARCHAR
);
