-- Part of the matrix units' work that is not padding: results are cut into tiles, and as many tiles
-- as there are multiprocessors are computed at a time.
CREATE MACRO _tile_efficiency(row_count, column_count, products, tile_rows, tile_columns, sms) AS
    row_count / (tile_rows * ceil(row_count / tile_rows))
    * column_count / (tile_columns * ceil(column_count / tile_columns))
    * coalesce(
        products * ceil(row_count / tile_rows) * ceil(column_count / tile_columns)
        / (
            sms
            * ceil(products * ceil(row_count / tile_rows) * ceil(column_count / tile_columns) / sms)
        ),
        1
    );
