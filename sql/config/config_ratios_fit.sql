-- Whether compress_ratios has an entry for each layer. Those after the layers belong to layers of
-- multi-token prediction; published files have more than they declare such layers, all of them 0.
CREATE MACRO config_ratios_fit(compress_ratios, num_layers, mtp_layers) AS
len(compress_ratios) - num_layers IN (0, coalesce(mtp_layers, 0))
OR len(compress_ratios) > num_layers AND list_max(compress_ratios[num_layers + 1:]) = 0;
