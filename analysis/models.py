"""Models and chips: their names, the scenarios added to them, their operators."""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..engine.errors import InputError, UsageError
from ..engine.sql import modules
from ..engine.sql.near import guess
from ..engine.store import Store
from ..ingest.model import config_name, model_settings, names_config, read_config
from .scenarios import check_scenario, checker

if TYPE_CHECKING:
    import duckdb

#: The least that a number of a scenario may be.
_LEAST = dict.fromkeys(("batch", "seq_len", "tp", "ep", "dp", "pp", "cp"), 1) | {"kv_len": 0}


def resolve_model(store: Store, text: str | os.PathLike[str]) -> str:
    """Return the model that a text names: a name, an alias, a Hugging Face id, or the path of a config.json.

    Case is ignored; space, underscore, point and dash are equivalent; an organisation before a slash is
    ignored.

    Raises:
        UsageError: no model has this name, or its dimensions are implausible.
        InputError: the file is not a config.json.
    """
    if names_config(text):
        return know_model(store, text)
    model = _model_named(store, str(text))
    if model is not None:
        _give_config_of_trace(store, model)
    else:
        if (config := Path(text) / "config.json").is_file():
            raise UsageError(f"{text}: a folder. Give the file in it: {config}")
        words = store.rows("SELECT word FROM model_words UNION SELECT model FROM architectures ORDER BY ALL")
        more = "tracelake model list shows all; a config.json works."
        raise UsageError(_unknown("model", str(text), [word for (word,) in words], more))
    [(fault,)] = store.rows("SELECT fault FROM architectures WHERE model = $1", [model])
    if fault:
        raise UsageError(f"{text}: {fault}.")
    return model


def _model_named(store: Store, text: str) -> str | None:
    """Return the model with this key, else the one with this alias, else the one of a trace's config of that name.

    Raises:
        UsageError: the configs of several traces have this name.
    """
    text = text.strip()
    found = [str(model) for (model,) in store.rows("SELECT model FROM _models_named($1) ORDER BY model", [text])]
    if not found:
        of_traces = store.rows("SELECT model, by_name FROM _trace_models_named($1) ORDER BY model", [text])
        found = [str(model) for model, _ in of_traces]
        if len(found) > 1 and of_traces[0][1]:
            raise UsageError(f"{text}: {len(found)} models have configs of this name. Give one of: {', '.join(found)}.")
    return found[0] if found else None


def _give_config_of_trace(store: Store, model: str) -> None:
    """Give the connection the config.json that a trace has of a model, if the model is otherwise unknown."""
    if not store.rows("SELECT 1 FROM architectures WHERE model = $1", [model]):
        [(config,)] = store.rows("SELECT config FROM _trace_configs WHERE model = $1", [model])
        store.give("given_configs", [(model, str(config))])


def settings_of_model(store: Store, model: str | os.PathLike[str]) -> dict[str, str | None]:
    """Return the settings that give a trace its model: the name, and the config.json that defines it.

    Raises:
        InputError: the file is not a config.json.
        UsageError: the configs of several traces have this name.
    """
    settings = model_settings(model)
    if settings["config"] is not None:
        return settings
    known = store.rows(
        "SELECT given_name AS model, config FROM _trace_configs WHERE model = $1", [_model_named(store, str(model))]
    )
    return {"model": known[0][0], "config": known[0][1]} if known else settings


def resolve_hardware(store: Store, text: str) -> str:
    """Return the chip that a text names: a key of the table hardware, an alias, or a device's name in a trace.

    Raises:
        UsageError: none has this name, or more than one.
    """
    rows = store.rows("SELECT hardware, name, aliases FROM hardware")
    known = {
        _folded(word): hardware
        for hardware, name, aliases in rows
        for word in (*(aliases or "").split(), name, hardware)
    }
    folded = _folded(text)
    for prefix in ("", "nvidia-", "amd-instinct-", "amd-", "huawei-", "google-"):
        if folded.startswith(prefix) and (hardware := known.get(folded.removeprefix(prefix))):
            return str(hardware)
    printed = store.rows(
        "SELECT hardware FROM hardware WHERE regexp_matches(lower($1), device_pattern) ORDER BY ALL", [text.strip()]
    )
    if len(printed) == 1:
        return str(printed[0][0])
    if printed:
        raise UsageError(f"{text}: ambiguous: {', '.join(name for (name,) in printed)}. Give one.")
    raise UsageError(_unknown("hardware", text, known, "tracelake hardware list shows all."))


def know_model(store: Store, path: str | os.PathLike[str], name: str | None = None) -> str:
    """Read a config.json, so that queries can use its model; return the model's name.

    Args:
        store: the lake.
        path: the file, in Hugging Face's format.
        name: the model's name; default: see `config_name`.

    Raises:
        InputError: the file cannot be read, or is not a model's config.json.
        UsageError: its dimensions are implausible.
    """
    config = read_config(Path(path))
    model = name or config_name(Path(path), config)
    text = json.dumps(config)
    check_config(store, path, text)
    store.give("model_configs", [(model, text)])
    return model


def check_config(store: Store, path: str | os.PathLike[str], config: str) -> None:
    """Check that a config.json defines a model with known operators.

    Args:
        store: the lake.
        path: its name in messages.
        config: its text.

    Raises:
        InputError: it is not a model's.
        UsageError: its dimensions are implausible.
    """
    architectures = modules.known("architectures")
    # Added for this query only, in a transaction that is rolled back.
    with contextlib.closing(store.prepare("architectures").cursor()) as cursor:
        cursor.begin()
        cursor.execute("INSERT OR REPLACE INTO model_configs VALUES ('', $1)", [config])
        known = cursor.execute(f"SELECT fault FROM ({architectures.query}) WHERE model = ''").fetchall()
        cursor.rollback()
    if not known:
        raise InputError(f"{path}: not a model's config.json: no dimension of a model found.")
    [(fault,)] = known
    if fault:
        raise UsageError(f"{path}: {fault}.")


def add_scenarios(store: Store, rows: Iterable[Mapping[str, Any]]) -> None:
    """Add scenarios to the analytical model: each row has columns of the table scenarios; missing ones default.

    `operators`, `module_roofline`, `phase_roofline` and the relations above them cover these as long as the
    lake is open. A row replaces an existing one of the same name.

    Raises:
        UsageError: a column or a name is unknown, or a value is not of its type.
    """
    import duckdb

    connection = store.prepare("scenarios")
    store.lookups.given.add("scenarios")
    checked = checker(store)
    for row in rows:
        values = {column: checked(column, value) for column, value in row.items() if value is not None}
        columns = ", ".join(f"${nth + 1} AS {column}" for nth, column in enumerate(values))
        try:
            # Not OR REPLACE, which would keep the old row's values in columns that the new one lacks.
            connection.execute("DELETE FROM scenarios WHERE scenario = $1", [row.get("scenario")])
            connection.execute(f"INSERT INTO scenarios BY NAME SELECT {columns}", list(values.values()))
        except duckdb.Error as error:
            raise UsageError(f"scenario {row.get('scenario')}: {error}") from error


def ask(
    store: Store, model: str | os.PathLike[str], hardware: str | None = None, *, name: str | None = None, **work: Any
) -> str:
    """Add one scenario to the analytical model and return its name.

    Args:
        store: the lake.
        model: a name, or the path of a config.json.
        hardware: the chip; without one there are no times.
        name: the scenario's name; default: from the model and the phase.
        work: columns of the table scenarios; those that are None get their defaults. By default, `phase`
            is decode for one new token, else prefill, and `dp` as many replicas as the experts need.

    Raises:
        UsageError: the model, the chip, a column or a name is unknown, or a number is not whole or too small.
    """
    known = resolve_model(store, model)
    checked = checker(store)
    given = {column: checked(column, value) for column, value in work.items() if value is not None}
    for column, least in _LEAST.items():
        if given.get(column, least) < least:
            raise UsageError(f"{column}={given[column]}: expected {least} or more.")
    given.setdefault("phase", "decode" if given.get("seq_len", 1) == 1 else "prefill")
    given.setdefault("dp", max(given.get("ep", 1) // (given.get("tp", 1) * given.get("cp", 1)), 1))
    scenario = name or f"{known} {given['phase']}, as asked"
    chip = resolve_hardware(store, hardware) if hardware else None
    add_scenarios(store, [{"scenario": scenario, "model": known, "hardware": chip, **given}])
    return scenario


def faults(store: Store, scenario: str) -> list[str]:
    """Return the reasons why a scenario is impossible; empty if it is possible.

    Raises:
        UsageError: there is no such scenario.
    """
    check_scenario(store, scenario)
    rows = store.rows("SELECT fault FROM scenario_faults WHERE scenario = $1 ORDER BY fault", [scenario])
    return [fault for (fault,) in rows]


def remarks(store: Store, scenario: str) -> list[str]:
    """Return what a scenario's costs omit from its model's config.json, and oddities of its chip's figures."""
    rows = store.rows("SELECT remark FROM scenario_remarks WHERE scenario = $1 ORDER BY remark DESC", [scenario])
    return [remark for (remark,) in rows]


def study_remarks(store: Store, studies: str) -> list[str]:
    """Return the remarks on the scenarios of studies whose name matches a pattern of LIKE, each once."""
    rows = store.rows(
        "SELECT DISTINCT remark FROM scenario_remarks "
        "WHERE scenario IN (SELECT scenario FROM scenarios WHERE study LIKE $1) ORDER BY remark DESC",
        [studies],
    )
    return [remark for (remark,) in rows]


def model_remarks(store: Store, model: str | os.PathLike[str]) -> list[str]:
    """Return what the costs of a model omit from its config.json, or assume."""
    known = resolve_model(store, model)
    rows = store.rows("SELECT remark FROM model_remarks WHERE model = $1 ORDER BY remark DESC", [known])
    return [remark for (remark,) in rows]


def models(store: Store) -> duckdb.DuckDBPyRelation:
    """Return the known models, with their dimensions and whether their active parameters match the published ones."""
    return store.sql(
        "SELECT model, name, attention, num_layers, hidden_size, num_experts, top_k, "
        "round(active / 1e9, 2) AS active_b, round(active_embedded / 1e9, 2) AS active_with_embedding_b, "
        "published_active_b, agrees, source, fault FROM _model_pages ORDER BY model"
    )


def model(store: Store, model: str | os.PathLike[str], *, tall: bool = False) -> duckdb.DuckDBPyRelation:
    """Return a model's dimensions, layer kinds and active parameters, in one row.

    Args:
        store: the lake.
        model: a name, or the path of a config.json.
        tall: return a row for each known property instead, as text.

    Raises:
        UsageError: the model is unknown.
        InputError: the file is not a config.json.
    """
    name = modules.quoted(resolve_model(store, model))
    wide = f"SELECT * FROM _model_pages WHERE model = {name}"
    if not tall:
        return store.sql(wide)
    # In billions, as in the list of models, with few digits.
    shown = (
        "SELECT * EXCLUDE (active, active_embedded, difference_pct, agrees, weight_scale_bytes, linear_scale_bytes, "
        "layer_kinds), round(weight_scale_bytes, 6) AS weight_scale_bytes, "
        "round(linear_scale_bytes, 6) AS linear_scale_bytes, round(active / 1e9, 2) AS active_b, "
        "round(active_embedded / 1e9, 2) AS active_with_embedding_b, round(difference_pct, 2) AS difference_pct, "
        f"agrees, layer_kinds FROM ({wide})"
    )
    return store.sql(
        "SELECT property, value FROM (UNPIVOT (SELECT CAST(COLUMNS(*) AS VARCHAR) FROM "
        f"({shown})) ON COLUMNS(*) INTO NAME property VALUE value)"
    )


def operators(store: Store, scenario: str) -> duckdb.DuckDBPyRelation:
    """Return the modelled cost of each operator of a scenario, by layer kind.

    Raises:
        UsageError: there is no such scenario.
    """
    check_scenario(store, scenario)
    return store.sql(
        f"SELECT * FROM operators WHERE scenario = {modules.quoted(scenario)} "
        "ORDER BY layer_kind IN ('ends', 'mtp'), layer_kind, op_seq"
    )


def _folded(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.strip().lower()).strip("-")


def _unknown(what: str, text: str, known: Iterable[str], more: str) -> str:
    return f"{text}: unknown {what}.{guess(_folded(text.rsplit('/', 1)[-1]), known, 4)} {more}"
