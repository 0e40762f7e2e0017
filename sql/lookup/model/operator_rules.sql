-- One row per operator of a layer: what it multiplies, in names of sizes of the relation
-- model_sizes. A matrix product costs 2 x rows x n x k x instances FLOP.
--
-- part          VARCHAR  kind of layer it belongs to: one of attention_kind or mlp_kind of
--                        model_layers, hc (hyper-connections), layer (every one), ends or mtp
-- op_seq        INTEGER  its place in the layer; with part and op the key
-- op            VARCHAR  name
-- module        VARCHAR  module of the model that holds it, as Hugging Face names it
-- fused_op      VARCHAR  name of the product that engines make of it and its neighbours; NULL: none
-- category      VARCHAR  attention, attention_core, mlp, moe, router, norm, head, embedding, mhc,
--                        elementwise or network
-- needs         VARCHAR  size that must be above 0 for the operator to exist
-- lacks         VARCHAR  size that must be absent for the operator to exist
-- form          VARCHAR  absorbed or expanded: only in this form of a latent attention
-- rows          VARCHAR  what its rows are: tokens, expanded (tokens whose keys are expanded),
--                        logits, assignments (tokens x experts), pairs (of query and key) or
--                        index_pairs (of query and indexed key)
-- n             VARCHAR  columns of its result, each instance
-- k             VARCHAR  inner dimension
-- instances     VARCHAR  products side by side; NULL: one
-- split         VARCHAR  how ranks share it: tp, kv_heads, replicated, experts or head_tp
-- split_side    VARCHAR  the dimension they cut: n, k or instances
-- weights       VARCHAR  class of its weights: linear, expert, head, norm, fp32, or table, whose
--                        rows are looked up; NULL: none
-- reads         VARCHAR  elements read per row; NULL: k x instances
-- writes        VARCHAR  elements written per row; NULL: n x instances
-- fused_writes  VARCHAR  the same if kernels are fused; NULL: no fewer
-- fused         BOOLEAN  its reads and writes vanish if kernels are fused
-- saves         DOUBLE   share of its reads that training saves for the backward pass; NULL: none,
--                        or its neighbour saves the same
-- kv            VARCHAR  elements read from the KV cache per cached key that is accessed
-- kv_rows       VARCHAR  for each of these: looked_up (cached keys that are accessed), indexed
--                        (cached keys of the indexer), new (tokens) or index_new (keys of the
--                        tokens that the indexer caches)
-- vector        VARCHAR  size that the vector work is proportional to
-- vector_flop   DOUBLE   vector FLOP per row and element of it
-- net           VARCHAR  collective: all_reduce, dispatch, combine, all_gather, ring or send
-- comment       VARCHAR  remark
CREATE TABLE operator_rules (
    part VARCHAR,
    op_seq INTEGER,
    op VARCHAR,
    module VARCHAR,
    fused_op VARCHAR,
    category VARCHAR NOT NULL,
    needs VARCHAR,
    lacks VARCHAR,
    form VARCHAR,
    rows VARCHAR NOT NULL,
    n VARCHAR,
    k VARCHAR,
    instances VARCHAR,
    split VARCHAR NOT NULL,
    split_side VARCHAR,
    weights VARCHAR,
    reads VARCHAR,
    writes VARCHAR,
    fused_writes VARCHAR,
    fused BOOLEAN,
    saves DOUBLE,
    kv VARCHAR,
    kv_rows VARCHAR,
    vector VARCHAR,
    vector_flop DOUBLE,
    net VARCHAR,
    comment VARCHAR,
    PRIMARY KEY (part, op_seq, op)
);
