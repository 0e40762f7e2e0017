-- Share of a chip's links that a group of ranks in a domain uses: all of them with a switch, else
-- those to the others of the group, or to one neighbour.
CREATE MACRO _link_share(peer_links, is_chain, ranks) AS CASE
    WHEN peer_links IS NULL THEN 1
    WHEN is_chain THEN 1 / peer_links
    ELSE least(greatest(ranks - 1, 1) / peer_links, 1)
END;
