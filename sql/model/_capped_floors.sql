-- Sum of least(top, floor(j / ratio)) for j from 1 to last.
CREATE MACRO _capped_floors(last, ratio, top) AS
    _floors(least(last, ratio * top), ratio)
    + greatest(last - ratio * top, 0) * top;
