"""Models that take turns in one program, and others whose passes only what enters them tells apart."""

import json

import torch

from .recorder import DEVICE, TINY, flop, llama, part, recorded, tokens


def made(kind: str, auto: str, dtype: torch.dtype = torch.bfloat16, **sizes: object) -> tuple[torch.nn.Module, dict]:
    """A model of transformers with random weights, by the class that makes it, and its config."""
    import transformers

    torch.manual_seed(0)
    config = transformers.AutoConfig.for_model(kind, **sizes)
    model = getattr(transformers, auto).from_config(config, dtype=dtype).to(DEVICE).eval().requires_grad_(False)
    return model, {"config": json.loads(config.to_json_string())}


def normal(*shape: int, dtype: torch.dtype) -> torch.Tensor:
    """Random numbers."""
    return torch.randn(*shape, device=DEVICE, dtype=torch.float32).to(dtype)


@part
def whisper() -> None:
    """Three times an encoder of 4 layers over 4 sounds, then 4 steps of a decoder of 3 layers, from 4 tokens on."""
    sizes = {"d_model": 512, "encoder_attention_heads": 8, "decoder_attention_heads": 8}
    sizes |= {"encoder_ffn_dim": 2048, "decoder_ffn_dim": 2048, "encoder_layers": 4, "decoder_layers": 3}
    model, facts = made("whisper", "AutoModelForSpeechSeq2Seq", **sizes)
    sound = normal(4, 80, 3000, dtype=model.dtype)
    with torch.no_grad():

        def run() -> None:
            heard, cache, given = None, None, torch.zeros(4, 4, device=DEVICE, dtype=torch.long)
            for _ in range(4):
                out = model(
                    input_features=sound,
                    encoder_outputs=heard,
                    decoder_input_ids=given,
                    past_key_values=cache,
                    use_cache=True,
                )
                heard, cache = (out.encoder_last_hidden_state,), out.past_key_values
                given = out.logits[:, -1:].argmax(-1)

        run()
        with recorded("whisper", facts | {"runs": 3, "encoder": 4, "decoder": 3, "steps": 4, "batch": 4, "start": 4}):
            for _ in range(3):
                run()


@part
def t5_generate() -> None:
    """An encoder-decoder, 4 layers each: one encoding of 8 x 256 tokens and 5 steps."""
    model, facts = made("t5", "AutoModelForSeq2SeqLM", num_layers=4, num_decoder_layers=4)
    given = tokens(model, 8, 256)

    def run() -> None:
        model.generate(given, max_new_tokens=5, min_new_tokens=5, do_sample=False, decoder_start_token_id=0)

    run()
    with recorded("t5_generate", facts | {"batch": 8, "length": 256, "steps": 5}):
        run()


@part
def clip() -> None:
    """Four runs of a tower of 6 layers over 16 images and one of 4 layers over 16 texts, fp16."""
    half = None if TINY else torch.float16
    layers = {"text_config": {"num_hidden_layers": 4}, "vision_config": {"num_hidden_layers": 6}}
    model, facts = made("clip", "AutoModel", dtype=half, **layers)
    image = normal(16, 3, 224, 224, dtype=model.dtype)
    words = torch.randint(0, 1000, (16, 77), device=DEVICE)
    with torch.no_grad():

        def run() -> None:
            model(input_ids=words, pixel_values=image)

        run()
        with recorded("clip", facts | {"passes": 4, "text": 4, "vision": 6}):
            for _ in range(4):
                run()


@part
def vit() -> None:
    """Four runs of a vision transformer of 6 layers over 16 images, fp16."""
    model, facts = made("vit", "AutoModel", dtype=None if TINY else torch.float16, num_hidden_layers=6)
    image = normal(16, 3, 224, 224, dtype=model.dtype)
    with torch.no_grad():

        def run() -> None:
            model(image)

        run()
        with recorded("vit", facts | {"passes": 4, "flop_pass": flop(run)}):
            for _ in range(4):
                run()


@part
def llama_static() -> None:
    """`generate` with a static cache: an eager prefill of 2 x 64 tokens, and 5 compiled decodes, 4 layers."""
    model, facts = llama(num_hidden_layers=2 if TINY else 4)
    given = tokens(model, 2, 64)
    model.generation_config.cache_implementation = "static"

    def run() -> None:
        model.generate(
            given,
            attention_mask=torch.ones_like(given),
            max_new_tokens=6,
            min_new_tokens=6,
            do_sample=False,
            pad_token_id=0,
        )

    for _ in range(2):
        run()
    with recorded("llama_static", facts | {"batch": 2, "length": 64, "passes": 6}):
        run()
