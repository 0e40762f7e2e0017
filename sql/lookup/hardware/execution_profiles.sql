-- One row per assumption about how kernels run: what they keep on the chip, what they fuse, and
-- which fraction of the chip's peaks they reach.
--
-- The rows naive and efficient are the two modes of a published report. Its residency and fusion
-- factors are assumptions for sensitivity studies, not measurements: a model larger than the caches
-- reads each weight at least once per pass, so the physical formulas do not use them. A calibration
-- adds its own row.
--
-- execution                VARCHAR  name; the key
-- attention_bytes_model    VARCHAR  naive: scores go through memory; flash: they stay on the chip
-- attention_residency      DOUBLE   times that a weight of the attention is used per read
-- dense_residency          DOUBLE   the same for dense MLPs, the embedding and the output head
-- moe_residency            DOUBLE   the same for the router and the experts
-- activation_factor        DOUBLE   share of the activations' bytes left by fusion
-- elementwise_factor       DOUBLE   share of the attention's temporary bytes left by fusion
-- tensor_core_model        BOOLEAN  few rows use the matrix units inefficiently; false: they do not
-- saturation_rows          DOUBLE   rows of a product that use the matrix units in full
-- scalar_efficiency        DOUBLE   speed of work outside the matrix units over the matrix peak
-- attention_tensor_share   DOUBLE   share of the attention's FLOP that matrix units can do
-- linear_tensor_share      DOUBLE   the same for linear layers and experts
-- embedding_tensor_share   DOUBLE   the same for the embedding
-- network_tensor_share     DOUBLE   the same for collectives
-- flop_fraction            DOUBLE   attainable share of the peak
-- hbm_fraction             DOUBLE   attainable share of the memory bandwidth
-- net_fraction             DOUBLE   attainable share of the network bandwidth
-- tile_rows                DOUBLE   rows of the tiles that products are split into; NULL: not split
-- tile_columns             DOUBLE   columns of them
-- comment                  VARCHAR  what it is for, and where the figures are from
CREATE TABLE execution_profiles (
    execution VARCHAR PRIMARY KEY,
    attention_bytes_model VARCHAR NOT NULL CHECK (attention_bytes_model IN ('naive', 'flash')),
    attention_residency DOUBLE NOT NULL DEFAULT 1 CHECK (attention_residency > 0),
    dense_residency DOUBLE NOT NULL DEFAULT 1 CHECK (dense_residency > 0),
    moe_residency DOUBLE NOT NULL DEFAULT 1 CHECK (moe_residency > 0),
    activation_factor DOUBLE NOT NULL DEFAULT 1 CHECK (activation_factor > 0),
    elementwise_factor DOUBLE NOT NULL DEFAULT 1 CHECK (elementwise_factor > 0),
    tensor_core_model BOOLEAN NOT NULL DEFAULT TRUE,
    saturation_rows DOUBLE NOT NULL DEFAULT 64 CHECK (saturation_rows > 0),
    scalar_efficiency DOUBLE NOT NULL DEFAULT 0.35 CHECK (scalar_efficiency BETWEEN 0 AND 1),
    attention_tensor_share DOUBLE NOT NULL DEFAULT 0.95,
    linear_tensor_share DOUBLE NOT NULL DEFAULT 0.98,
    embedding_tensor_share DOUBLE NOT NULL DEFAULT 0.7,
    network_tensor_share DOUBLE NOT NULL DEFAULT 0,
    flop_fraction DOUBLE NOT NULL DEFAULT 1 CHECK (flop_fraction > 0),
    hbm_fraction DOUBLE NOT NULL DEFAULT 1 CHECK (hbm_fraction > 0),
    net_fraction DOUBLE NOT NULL DEFAULT 1 CHECK (net_fraction > 0),
    tile_rows DOUBLE CHECK (tile_rows > 0),
    tile_columns DOUBLE CHECK (tile_columns > 0),
    comment VARCHAR
);
