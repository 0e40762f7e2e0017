-- Probability that at least `hits` of `trials` independent trials succeed, each with the
-- probability `chance`, above 0 and below 1. If the chances differ and `hits` is above the expected
-- number by one or more, it is at most that with their mean (Hoeffding 1956).
CREATE MACRO binomial_tail(hits, trials, chance) AS
list_sum(list_transform(
    range(CAST(hits AS BIGINT), CAST(trials AS BIGINT) + 1),
    lambda i: exp(
        lgamma(trials + 1) - lgamma(i + 1) - lgamma(trials - i + 1)
        + i * ln(chance) + (trials - i) * ln(nullif(1 - chance, 0))
    )
));
