-- Sum of floor(j / ratio) for j from 1 to last.
CREATE MACRO _floors(last, ratio) AS
    ratio * (last // ratio) * (last // ratio - 1) // 2
    + (last // ratio) * (last % ratio + 1);
