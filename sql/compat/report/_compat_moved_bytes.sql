-- Bytes of all visits of tokens to experts and back, in all layers, on the chip or away, given the
-- scenario's row of _compat_report_inputs.
CREATE MACRO _compat_moved_bytes(i) AS
    2 * i.tokens * i.hidden * i.top_k * i.activation_bytes * i.moe_layers;
