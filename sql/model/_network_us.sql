-- Time in µs in which a rank sends so many bytes in a collective of a group of ranks.
--
-- Within a domain its links carry them; beyond, the slower of links and network counts. An
-- all-reduce sums up within the domains first. Of the copies of a token that go to experts only
-- copied_share leave a domain; the links of the one that they reach take them on. Between
-- neighbours some pair is of two domains. Hops in a row: within a domain one, between domains as
-- many as double those reached each time, of an all-reduce twice as many.
CREATE MACRO _network_us(
    sent, collective, ranks, domain_size, link_gbps, scaleout_gbps, link_us, scaleout_us,
    copied_share
) AS CASE
    WHEN ranks <= coalesce(domain_size, ranks)
        THEN sent / link_gbps / 1e3 + link_us * CASE collective WHEN 'all_reduce' THEN 2 ELSE 1 END
    ELSE greatest(
        sent / link_gbps * CASE
            WHEN collective = 'all_gather' THEN domain_size / ranks
            WHEN collective IN ('dispatch', 'combine') AND copied_share = 1
                THEN domain_size / ranks
            ELSE 1
        END,
        sent / scaleout_gbps * CASE collective
            WHEN 'all_reduce' THEN 1 / domain_size
            WHEN 'all_gather' THEN 1 - domain_size / ranks
            WHEN 'dispatch' THEN (1 - domain_size / ranks) * copied_share
            WHEN 'combine' THEN (1 - domain_size / ranks) * copied_share
            ELSE 1
        END
    ) / 1e3 + scaleout_us * CASE collective
        WHEN 'all_reduce' THEN 2 * ceil(log2(ranks / domain_size))
        WHEN 'all_gather' THEN ceil(log2(ranks / domain_size))
        ELSE 1
    END
END;
