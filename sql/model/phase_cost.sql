-- One row per scenario and price of its chip: what tokens cost. Of prefill these are prompt tokens,
-- of decode new ones, of training those of a step.
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
-- tokens_per_s            DOUBLE   tokens of a replica
-- usd_per_million_tokens  DOUBLE   price of a million tokens, were every pass as quick as its bound
CREATE VIEW phase_cost AS
SELECT
    p.scenario, p.study, p.hardware, prices.offer, prices.provider, prices.region,
    prices.commitment, prices.usd_per_hour, p.tp * p.pp AS chips, p.tokens_per_s,
    prices.usd_per_hour / 3600 * p.tp * p.pp / nullif(p.tokens_per_s, 0) * 1e6
        AS usd_per_million_tokens
FROM phase_roofline AS p
JOIN prices ON prices.hardware = p.hardware;
