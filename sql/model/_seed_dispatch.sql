-- The visits of tokens to experts of other chips, given the scenario's row of _seed_inputs.
--
-- The report's faults are kept: training sends as much as prefill, both ways in the same type.
CREATE MACRO _seed_dispatch(i) AS {
    m_eff: i.batch,
    tensor_share: i.network_tensor_share,
    flop: 0.0,
    weight_bytes: 0.0,
    activation_bytes: 0.0,
    kv_bytes: 0.0,
    temporary_bytes: 0.0,
    net_bytes: _seed_moved_bytes(i) * (i.ep - 1) / i.ep
};
