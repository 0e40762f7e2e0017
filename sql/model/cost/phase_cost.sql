-- One row per scenario and price of its chip: what tokens cost. For prefill these are prompt
-- tokens, for decode new ones, for training those of a step.
--
-- key: scenario, offer
--
-- scenario                VARCHAR  scenario
-- study                   VARCHAR  sweep that it is a point of
-- hardware                VARCHAR  chip
-- offer                   VARCHAR  name of the price
-- provider                VARCHAR  who rents it out
-- region                  VARCHAR  where
-- commitment              VARCHAR  on demand, spot, a year
-- usd_per_hour            DOUBLE   price of one chip for an hour
-- chips                   BIGINT   chips of a replica
-- chip_tokens_per_s       DOUBLE   tokens per second and chip, see phase_roofline
-- usd_per_million_tokens  DOUBLE   price of a million tokens if every pass were as fast as its
--                                  bound
CREATE VIEW phase_cost AS
SELECT
    t.scenario, t.study, t.hardware, prices.offer, prices.provider, prices.region,
    prices.commitment, prices.usd_per_hour, t.chips, t.chip_tokens_per_s,
    prices.usd_per_hour / 3600 / nullif(t.chip_tokens_per_s, 0) * 1e6 AS usd_per_million_tokens
FROM phase_roofline AS t
JOIN prices ON prices.hardware = t.hardware
WHERE t.step_ms IS NOT NULL;
