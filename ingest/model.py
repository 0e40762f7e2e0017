"""The user's choice of a trace's model: a name, or a config.json."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..engine.errors import InputError
from ..engine.secrets import redact

#: Maximum bytes of a config.json.
LARGEST_CONFIG = 16 << 20


def model_settings(model: str | os.PathLike[str]) -> dict[str, str | None]:
    """Return the settings for a model's name, or the path of its config.json; a name discards an earlier config.

    Credentials in the file are replaced.

    Raises:
        InputError: the path exists but cannot be read, or does not hold a JSON object.
    """
    if not names_config(model):
        return {"model": str(model), "config": None}
    path = Path(model)
    config = read_config(path)
    return {"model": redact(config_name(path, config)), "config": redact(json.dumps(config))}


def read_config(path: Path) -> dict[str, Any]:
    """Read a model's config.json.

    Raises:
        InputError: it cannot be read, is too large, or does not hold a JSON object.
    """
    try:
        if path.stat().st_size > LARGEST_CONFIG:
            raise InputError(f"{path}: {path.stat().st_size} bytes, too large for a config.json.")
        config = json.loads(path.read_bytes())
    except FileNotFoundError as error:
        raise InputError(f"{path}: not a model's config.json: no such file.") from error
    except OSError as error:
        raise InputError(f"{path}: not a model's config.json: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not a model's config.json: {error}.") from error
    if not isinstance(config, dict):
        raise InputError(f"{path}: not a model's config.json: expected an object.")
    return config


def names_config(model: str | os.PathLike[str]) -> bool:
    """Whether a user's model is the path of a config.json, and not a name."""
    path = Path(model)
    return path.is_file() or path.suffix == ".json"


def config_name(path: Path, config: Mapping[str, Any]) -> str:
    """Return the name of a config.json's model.

    By the file's `_name_or_path`, else by its own name, or its folder's; by the repository's if either is in a cache
    of Hugging Face.
    """
    origin = str(config.get("_name_or_path") or "")
    return _last_name(re.split(r"[/\\]", origin)) or (
        _last_name(path.absolute().parent.parts) or str(config.get("model_type") or "model")
        if path.stem == "config"
        else path.stem
    )


def _last_name(parts: Sequence[str]) -> str:
    """Return the last part of a path that is a name, else an empty text."""
    names = [part for part in parts if part.strip("./\\")]
    if names[-2:-1] == ["snapshots"]:  # models--Qwen--Qwen3-8B/snapshots/REVISION
        return names[-3].rsplit("--", 1)[-1] if len(names) > 2 else names[-1]
    return names[-1] if names else ""
