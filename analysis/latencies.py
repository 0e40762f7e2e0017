"""Latency tables of other tools, attached to a lake: best times to compare its kernels with."""

from __future__ import annotations

import io
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..engine.errors import InputError, UsageError
from ..engine.storage.files import exclusive, publish_bytes
from .models import resolve_hardware

if TYPE_CHECKING:
    import polars

    from ..engine.store import Store

_KEY = ("hardware", "dtype", "batch", "m", "n", "k")
_COLUMNS = {
    "hardware": "String", "dtype": "String", "batch": "Int64", "m": "Int64", "n": "Int64", "k": "Int64",
    "latency_us": "Float64", "source": "String",
}  # fmt: skip


@dataclass(frozen=True)
class Attached:
    """The result of reading a folder of latency tables.

    Attributes:
        tables: number of tables of matrix products.
        products: number of products whose minimum time the lake now has.
        skipped: what was left out, and why, as text.
    """

    tables: int
    products: int
    skipped: tuple[str, ...]


def attach(store: Store, folder: Path) -> Attached:
    """Read latency tables into the lake's own rows of the lookup table `attainable`, keeping each product's minimum.

    Tables are Parquet files in aiconfigurator's layout: columns m, n, k, latency (ms) and gemm_dtype or dtype; the chip
    is in a column system or device, else in a folder's name, as h100_sxm. Files without these are for other operators.

    Raises:
        UsageError: there is no such folder, or no table of products in it.
        InputError: a file cannot be read as Parquet.
    """
    import polars as pl

    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder. Give one with latency tables, as systems/data of aiconfigurator.")
    types = dict(store.rows("SELECT token, dtype FROM dtypes UNION SELECT name, dtype FROM latency_types"))
    left_out: Counter[str] = Counter()
    paths = sorted(folder.resolve().rglob("*.parquet"))
    tables = [table for path in paths if (table := _products(store, path, types, left_out)) is not None]
    skipped = tuple(f"{count} rows: {why}" for why, count in sorted(left_out.items()))
    if not any(map(len, tables)):
        raise UsageError(
            f"{folder}: no latencies of matrix products: expected Parquet files with the columns m, n, k, latency and "
            f"gemm_dtype. {'. '.join(skipped)}"
        )
    own = store.layout.lookup / "attainable.csv"
    with exclusive(store.layout.lock):
        before = [_own_rows(own.read_bytes())] if own.exists() else []
        least = pl.concat([*before, *tables]).sort("latency_us", "source").unique(_KEY, keep="first").sort(_KEY)
        text = io.StringIO()
        least.write_csv(text)
        publish_bytes(own, text.getvalue().encode())
    store.refresh()
    return Attached(len(tables), len(least), skipped)


def _products(store: Store, path: Path, types: dict[str, str], left_out: Counter[str]) -> polars.DataFrame | None:
    """Return a table's products as rows of `attainable`; None if it is for another operator."""
    import polars as pl

    try:
        table = pl.read_parquet(path, hive_partitioning=False)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise InputError(f"{path}: cannot be read as Parquet: {error}") from error
    kind = next((name for name in ("gemm_dtype", "dtype") if name in table.columns), None)
    if kind is None or not {"m", "n", "k", "latency"} <= {*table.columns}:
        return None
    if (operator := next((name for name in ("op", "op_name") if name in table.columns), None)) is not None:
        table = table.filter(pl.col(operator).cast(pl.String).str.to_lowercase().str.contains("gemm|mm|linear"))
    device = next((name for name in ("system", "device") if name in table.columns), None)
    named = table[device].cast(pl.String).unique().to_list() if device else []
    chips = {name: chip for name in named if name and (chip := _chip(store, [name]))}
    by_folder = _chip(store, path.parts[::-1])
    rows = table.select(
        (pl.col(device).cast(pl.String).replace_strict(chips, default=by_folder, return_dtype=pl.String)
         if device else pl.lit(by_folder, pl.String)).alias("hardware"),
        pl.col(kind).cast(pl.String).str.to_lowercase().replace_strict(types, default=None, return_dtype=pl.String)
        .alias("dtype"),
        pl.lit(1, pl.Int64).alias("batch"), *(pl.col(name).cast(pl.Int64) for name in ("m", "n", "k")),
        (1000 * pl.col("latency").cast(pl.Float64)).alias("latency_us"),
        pl.lit("/".join(path.parts[-4:-1])).alias("source"),
    )  # fmt: skip
    for column, why in (("hardware", "unknown chip"), ("dtype", "a type that no kernel computes in, or unknown")):
        if missing := rows[column].null_count():
            left_out[f"{why} ({path.name})"] += missing
    return rows.drop_nulls().filter(pl.col("latency_us") > 0)


def _chip(store: Store, names: list[str] | tuple[str, ...]) -> str | None:
    """Return the chip of the first name that is one, if any; a suffix _sxm may be dropped."""
    for name in names:
        for text in dict.fromkeys((name, name.removesuffix("_sxm"))):
            try:
                return resolve_hardware(store, text)
            except UsageError:
                continue
    return None


def _own_rows(data: bytes) -> polars.DataFrame:
    """Return the lake's existing rows; columns missing in its file get their default."""
    import polars as pl

    rows = pl.read_csv(data, infer_schema=False)
    missing = [pl.lit("1" if name == "batch" else None).alias(name) for name in _COLUMNS if name not in rows.columns]
    return rows.with_columns(missing).select(pl.col(name).cast(getattr(pl, kind)) for name, kind in _COLUMNS.items())
