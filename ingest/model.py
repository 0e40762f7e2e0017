"""What a user says of a trace's model: a name, or a config.json."""

from __future__ import annotations

import json
import os
from pathlib import Path

from ..engine.errors import InputError


def model_settings(model: str | os.PathLike[str]) -> dict[str, str]:
    """Return what a model's name, or the path of its config.json, says.

    Raises:
        InputError: the path is there but holds no JSON object.
    """
    path = Path(model)
    if not path.is_file():
        if path.suffix == ".json":
            raise InputError(f"{model}: no such file. Give a model's name, or its config.json.")
        return {"model": str(model)}
    try:
        config = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise InputError(f"{model}: not a model's config.json: {error}") from error
    if not isinstance(config, dict):
        raise InputError(f"{model}: not a model's config.json: expected an object.")
    named = config.get("_name_or_path") or config.get("model_type") or path.absolute().parent.name
    return {"model": str(named), "config": json.dumps(config)}
