-- One row per framework operator and kernel that runs it on an Ascend device, or would.
--
-- op           VARCHAR  operator without its overload, as aten.mm; the key with place
-- place        INTEGER  order: likeliest alternative first, or parts in the order they run
-- kernel_type  VARCHAR  type of operation, NULL for one that launches nothing
-- part         BOOLEAN  the operator runs this kernel and its other parts, not one of them
-- zero_cost    BOOLEAN  it is only a view of a tensor
-- comment      VARCHAR  when
CREATE TABLE op_kernel_map (
    op VARCHAR,
    place INTEGER,
    kernel_type VARCHAR,
    part BOOLEAN NOT NULL,
    zero_cost BOOLEAN NOT NULL,
    comment VARCHAR,
    PRIMARY KEY (op, place)
);
