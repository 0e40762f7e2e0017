-- Sum of least(cap, j) for j from 1 to last: keys that the first tokens see which see cap at most.
CREATE MACRO _capped_keys(last, cap) AS
    least(last, cap) * (least(last, cap) + 1) // 2 + greatest(last - cap, 0) * cap;
