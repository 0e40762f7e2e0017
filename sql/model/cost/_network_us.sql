-- Time in µs in which a rank sends the given bytes in a collective of a group of ranks, of which
-- near ones are within a domain. NULL if a bandwidth that it needs is unknown.
--
-- Within a domain its links carry the bytes; beyond it, the slower of links and network decides. An
-- all-reduce first sums up within the domains, each rank a part. Of the copies of a token that go
-- to experts, only copied_share leave a domain; the links of the destination distribute them. Of
-- neighbours in a ring or a pipeline, some are in two domains, which only the network connects.
-- Consecutive hops: one within a domain, two for an all-reduce; between domains an all-gather takes
-- as many as reach all by doubling, an all-reduce twice as many, the others one.
CREATE MACRO _network_us(
    sent, collective, ranks, near, link_gbps, scaleout_gbps, link_us, scaleout_us, copied_share
) AS CASE
    WHEN ranks <= near
        THEN sent / link_gbps / 1e3 + link_us * CASE collective WHEN 'all_reduce' THEN 2 ELSE 1 END
    WHEN collective IN ('ring', 'send') THEN sent / scaleout_gbps / 1e3 + scaleout_us
    WHEN near > 1 AND link_gbps IS NULL THEN NULL
    ELSE greatest(
        sent / link_gbps * CASE
            WHEN collective = 'all_reduce' THEN ranks / (ranks - 1) * (near - 1) / near
            WHEN copied_share < 1 THEN 1
            ELSE (near - 1) / (ranks - 1)
        END,
        sent / scaleout_gbps * CASE
            WHEN collective = 'all_reduce' THEN (ranks - near) / (ranks - 1) / near
            ELSE (ranks - near) / (ranks - 1) * copied_share
        END
    ) / 1e3 + scaleout_us * CASE collective
        WHEN 'all_reduce' THEN 2 * ceil(log2(ranks / near))
        WHEN 'all_gather' THEN ceil(log2(ranks / near))
        ELSE 1
    END
END;
