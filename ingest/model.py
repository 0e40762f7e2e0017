"""What a user says of a trace's model: a name, or a config.json."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..engine.errors import InputError

#: Bytes of a config.json at most.
LARGEST_CONFIG = 16 << 20


def model_settings(model: str | os.PathLike[str]) -> dict[str, str | None]:
    """Return what a model's name, or the path of its config.json, says: after a name no earlier config counts.

    Raises:
        InputError: the path is there but cannot be read, or holds no JSON object.
    """
    path = Path(model)
    if not path.is_file():
        if path.suffix == ".json":
            raise InputError(f"{model}: no such file. Give a model's name, or its config.json.")
        return {"model": str(model), "config": None}
    config = read_config(path)
    return {"model": config_name(path, config), "config": json.dumps(config)}


def read_config(path: Path) -> dict[str, Any]:
    """Read a model's config.json.

    Raises:
        InputError: it cannot be read, is too large to be one, or holds no JSON object.
    """
    try:
        if path.stat().st_size > LARGEST_CONFIG:
            raise InputError(f"{path}: {path.stat().st_size} bytes are too many for a config.json.")
        config = json.loads(path.read_bytes())
    except OSError as error:
        raise InputError(f"{path}: not a model's config.json: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not a model's config.json: {error}.") from error
    if not isinstance(config, dict):
        raise InputError(f"{path}: not a model's config.json: expected an object.")
    return config


def config_name(path: Path, config: Mapping[str, Any]) -> str:
    """Return the name of a config.json's model.

    By the file's `_name_or_path`, else by its own name, by its repository's where it is in a cache of Hugging Face, or
    by its folder's.
    """
    said = str(config.get("_name_or_path") or "").rstrip("/").rsplit("/", 1)[-1]
    if said or path.stem != "config":
        return said or path.stem
    folder = path.absolute().parent
    if folder.parent.name == "snapshots":  # models--Qwen--Qwen3-8B/snapshots/REVISION/config.json
        return folder.parent.parent.name.rsplit("--", 1)[-1]
    return folder.name or str(config.get("model_type") or "model")
