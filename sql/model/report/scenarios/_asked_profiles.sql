-- One row per execution profile of a model report's what-ifs: the main profile, with a knob of the
-- chip turned a step.
-- execution               VARCHAR  name; the key
-- attention_bytes_model   VARCHAR  naive: scores go through memory; flash: they stay on the chip
-- attention_residency     DOUBLE   times that a weight of the attention serves once it is read
-- dense_residency         DOUBLE   the same for dense MLPs, the embedding and the output head
-- moe_residency           DOUBLE   the same for the router and the experts
-- activation_factor       DOUBLE   share of the activations' bytes left by fusion
-- elementwise_factor      DOUBLE   share of the attention's temporary bytes left by fusion
-- tensor_core_model       BOOLEAN  few rows use the matrix units badly; false: they do not
-- saturation_rows         DOUBLE   rows of a product that use the matrix units in full
-- scalar_efficiency       DOUBLE   speed of work outside the matrix units over the matrix peak
-- attention_tensor_share  DOUBLE   share of the attention's FLOP that matrix units can do
-- linear_tensor_share     DOUBLE   the same for linear layers and experts
-- embedding_tensor_share  DOUBLE   the same for the embedding
-- network_tensor_share    DOUBLE   the same for collectives
-- flop_fraction           DOUBLE   attainable share of the peak
-- hbm_fraction            DOUBLE   attainable share of the memory bandwidth
-- net_fraction            DOUBLE   attainable share of the network bandwidth
-- tile_rows               DOUBLE   rows of the tiles that products are cut into; NULL: not cut
-- tile_columns            DOUBLE   columns of them
-- comment                 VARCHAR  what it is for, and where the figures are from
CREATE VIEW _asked_profiles AS
SELECT e.* REPLACE (
    concat_ws(' ', 'report', knob, side) AS execution,
    flop_fraction * flop_factor AS flop_fraction, hbm_fraction * hbm_factor AS hbm_fraction,
    net_fraction * net_factor AS net_fraction, 'what-if of a model report' AS comment
)
FROM execution_profiles AS e
JOIN _report_workload AS w ON w.main = e.execution
JOIN report_steps AS r ON r.flop_factor <> 1 OR r.hbm_factor <> 1 OR r.net_factor <> 1;
