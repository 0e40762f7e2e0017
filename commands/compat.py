"""Hidden options of commands: the figures of other tools, to find their errors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from ..engine.errors import UsageError
from ..engine.storage.paths import Place
from .common import open_at, open_default, render_rows, say, write_answer

if TYPE_CHECKING:
    from collections.abc import Callable

    import duckdb

    from ..lake import Lake

    Given = tuple[str | None, int | None, int | None]
    Answer = Callable[..., None]

#: The option name, current and former.
WORDS = ("compat", "reference", "seed")
#: The format, current and former name.
JSON = ("compat-json", "seed-json")
_COUNT = click.IntRange(1)


def extend(place: str, command: click.Command) -> None:
    """Add the options to a command, given by its module and its name in it."""
    if place in ("layers.passes", "layers.layers"):
        anchors = (
            _option("--anchor", "Text that the anchor kernel's name contains."),
            _option("--num-layers", "Layers of the model.", type=_COUNT),
            _option("--blocks-per-layer", "Anchors in one layer.", type=_COUNT),
        )
        refusal = "needs --compat. To set it for the trace: tracelake set TRACE anchor=REGEX num_layers=N."
        _add(command, _compat("Count as the reference analyser does."), _counts, *anchors, refusal=refusal)
    elif place == "summary.summary":
        _add(
            command, _compat("As the reference's profile summary."), _summary,
            _option("--warmup-steps", "Steps with a smaller number are warm-up.", type=click.IntRange(0)),
            _option("--hot-op-limit", "Operations in its list.", type=_COUNT),
            _option(
                "--breakdown-mode", "How it sums up time.",
                type=click.Choice(["exclusive_per_track", "exclusive_global"]),
            ),
        )  # fmt: skip
    elif place == "model_mfu.mfu":
        choices = click.Choice(["physical", *WORDS])
        _add(command, _option("--formulas", "compat: as the reference's simulator.", type=choices), _mfu)
    elif place == "layers.kernels":
        _add_format(command)


def _option(name: str, text: str, **more: Any) -> click.Option:
    return click.Option([name], help=text, hidden=True, **more)


def _compat(text: str) -> click.Option:
    return _option("--compat", text, is_flag=False, flag_value="compat", type=click.Choice(WORDS))


def _add(
    command: click.Command,
    switch: click.Option,
    answer: Answer,
    *options: click.Option,
    refusal: str = "needs --compat.",
) -> None:
    """Add a switch that changes a command's answer, and options of that answer, which are refused without it."""
    plain = cast("Answer", command.callback)

    @click.pass_obj
    def run(lake: Place | None, /, **words: Any) -> None:
        switched = words.pop(str(switch.name)) in WORDS
        given = {option: words.pop(str(option.name)) for option in options}
        if switched:
            answer(lake, {str(option.name): value for option, value in given.items()}, **words)
            return
        if unasked := [option.opts[0] for option, value in given.items() if value is not None]:
            raise UsageError(f"{unasked[0]} {refusal}")
        plain(**words)

    command.params += [switch, *options]
    command.callback = run


def _add_format(command: click.Command) -> None:
    """Add the format compat-json to the command of kernels."""
    plain = cast("Answer", command.callback)
    [option] = [one for one in command.params if isinstance(one, click.Option) and one.name == "format_"]
    choices = [*cast("click.Choice[str]", option.type).choices, *JSON]
    option.type, option.metavar = click.Choice(choices), f"[{'|'.join(choices[:-1])}]"
    option.help = f"{option.help} compat-json: a layer as one nested object, the input of layer simulators."

    @click.pass_obj
    def run(lake: Place | None, /, **words: Any) -> None:
        if words["format_"] in JSON:
            _layer(lake, **words)
        else:
            plain(**words)

    command.callback = run


def _layer(
    lake: Place | None, trace: str, pass_: str | None, layer: int | None, output: Path | None, **others: Any
) -> None:
    """Print a layer as one nested object, the input of layer simulators."""
    from ..engine.text import json_text
    from ..reports.compat.layer import layer_json
    from .which_pass import find_one_pass

    if layer is None:
        raise UsageError("a layer is missing: give --layer N.")
    if others["compare_layer"] is not None or others["compare_pass"] is not None:
        raise UsageError("compat-json holds one layer; --format json compares two.")
    opened = open_at(lake, trace)
    pass_id = find_one_pass(opened, trace, pass_)
    opened.check_layers(trace, pass_id, (layer,))
    found = layer_json(opened.store, opened.locate(trace), pass_id, layer)
    write_answer(json_text(json.dumps(found, indent=2, ensure_ascii=False)) + "\n", output)


def _summary(
    lake: Place | None, given: dict[str, Any], trace: str, format_: str | None, output: Path | None, top: int
) -> None:
    from .summary import summary_format

    known = {name: value for name, value in given.items() if value is not None}
    opened = open_at(lake, trace)
    write_answer(opened.compat.summary(trace, summary_format(format_, output), top=top, **known), output)


def _mfu(
    lake: Place | None, _: dict[str, Any], name: str, pass_: str | None, format_: str, output: Path | None, **words: Any
) -> None:
    # The reference's text has no columns to leave out.
    given = {key: value for key, value in words.items() if value is not None and key != "wide"}
    for key in ("phase", "kv_len", "pp", "mla_mode"):
        if key in given:
            raise UsageError(f"--{key.replace('_', '-')}: the reference has no such option.")
    if pass_ is not None:
        raise UsageError("--pass: the reference has no such option.")
    if "hardware" in given:
        given["gpu"] = given.pop("hardware")
    opened = open_default(lake)
    answer = opened.compat.mfu(name, format=format_, **given)
    [(known,)] = opened.rows(
        "SELECT count(*) FROM compat_chips WHERE chip = $1 OR list_contains(aliases, $1)",
        [given.get("gpu", "h20").strip().lower()],
    )
    if not known:
        say(f"the reference has no chip {given['gpu']}: no MFU.")
    write_answer(answer, output)


def _counts(
    lake: Place | None,
    words: dict[str, Any],
    trace: str,
    format_: str,
    output: Path | None,
    limit: int,
    **of_layers: str | None,
) -> None:
    """Print passes, or for a command with a pass its layers; exit with 1 if there is no pass."""
    given: Given = (words["anchor"], words["num_layers"], words["blocks_per_layer"])
    opened = open_at(lake, trace)
    passes = opened.compat.passes(trace, *given)
    chosen = dict(passes.select("pass_id, chosen").fetchall())
    if not chosen:
        anchor, layers, anchors, count = opened.compat.plan(trace, *given).fetchall()[0]
        say(
            f"{trace}: no anchor known. Give --anchor TEXT." if anchor is None else
            f"{trace}: {anchors} kernels contain {anchor!r}, which makes {count} passes of {layers} layers."
        )  # fmt: skip
        raise SystemExit(1)
    answer = _layers(opened, trace, given, chosen, of_layers["pass_"]) if "pass_" in of_layers else passes
    render_rows(answer, format_, output, limit)


def _layers(
    opened: Lake, trace: str, given: Given, chosen: dict[int, bool], wanted: str | None
) -> duckdb.DuckDBPyRelation:
    """Return the layers of the wanted pass; default: of the chosen one, or of all if none is chosen."""
    if wanted is None:
        return opened.compat.layers(trace, *given, next((one for one in chosen if chosen[one]), "all"))
    if wanted == "all":
        return opened.compat.layers(trace, *given)
    if not wanted.isdecimal() or int(wanted) not in chosen:
        raise UsageError(f"--pass {wanted}: the reference counts passes 0 to {max(chosen)}, or give all.")
    return opened.compat.layers(trace, *given, int(wanted))
