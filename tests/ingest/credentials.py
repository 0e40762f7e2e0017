"""Made-up credentials of every kind in the table, and the places of a trace's files where one may stand.

They are put together here from parts, so that no scanner takes this file for a leak.
"""

import base64
import random
import string

_LETTERS = string.ascii_letters + string.digits


def token(prefix: str, length: int, seed: int = 0, alphabet: str = _LETTERS) -> str:
    """A prefix with letters and digits behind it, the same for the same seed."""
    chosen = random.Random(f"{prefix}{length}{seed}")
    return prefix + "".join(chosen.choice(alphabet) for _ in range(length))


def _encoded(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


UPPER = string.ascii_uppercase + string.digits
JWT = ".".join((_encoded('{"alg":"HS256","typ":"JWT"}'), _encoded('{"sub":"1234567890","admin":true}'), token("", 43)))
PEM_BODY = "\n".join(token("MII", 61, seed) for seed in range(4))
PEM = f"-----BEGIN RSA {'PRIVATE'} KEY-----\n{PEM_BODY}\n-----END RSA {'PRIVATE'} KEY-----\n"

#: Kind in the table -> a text as it stands in files, and what of it must not be stored.
KINDS: dict[str, tuple[str, str]] = {
    kind: (text, secret)
    for kind, text, secret in (
        ("huggingface_token", *[token("h" + "f_", 34)] * 2),
        ("github_token", *[token("gh" + "p_", 36)] * 2),
        ("gitlab_token", *[token("glp" + "at-", 20)] * 2),
        ("slack_token", *["xo" + "xb-" + token("", 12, alphabet=string.digits) + "-" + token("", 24)] * 2),
        ("aws_access_key_id", *[token("AK" + "IA", 16, alphabet=UPPER)] * 2),
        ("google_api_key", *[token("AI" + "za", 35)] * 2),
        ("sk_key", *[token("s" + "k-proj-", 48)] * 2),
        ("stripe_key", *[token("s" + "k_live_", 24)] * 2),
        ("npm_token", *[token("np" + "m_", 36)] * 2),
        ("pypi_token", *[token("py" + "pi-AgEIcHlwaS5vcmc", 60)] * 2),
        ("docker_token", *[token("dckr" + "_pat_", 27)] * 2),
        ("nvidia_key", *[token("nv" + "api-", 64)] * 2),
        ("groq_key", *[token("gs" + "k_", 52)] * 2),
        ("replicate_token", *[token("r" + "8_", 37)] * 2),
        ("json_web_token", JWT, JWT),
        ("private_key", PEM, token("MII", 61, 2)),
        ("authorization", "authorization: Basic eW91Omh1bnRlcjIx", "eW91Omh1bnRlcjIx"),
        ("bearer_token", "curl -H 'Bearer abc0.DEFGH~ijkl_mnop'", "abc0.DEFGH~ijkl_mnop"),
        ("basic_credentials", "Proxy: Basic bWU6aHVudGVyMjEyMzQ1Njc=", "bWU6aHVudGVyMjEyMzQ1Njc"),
        ("url_password", "postgres://me:hunter-2.db@db.example.com:5432/runs", "hunter-2.db"),
        ("secret_pair_quoted", r"{\"name\": \"DB_PASSWORD\", \"value\": \"correct-horse-1\"}", "correct-horse-1"),
        ("secret_quoted", "{'api_key': 'correct horse; battery'}", "correct horse; battery"),
        ("secret_value", "AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG+bPxRfiCY", "wJalrXUtnFEMI/K7MDENG+bPxRfiCY"),
        ("secret_option", "serve --hf-token hunter212345 --port 80", "hunter212345"),
    )
}
#: Texts that look like credentials at first, and are none.
HARMLESS = (
    "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15FillFunctorIfEENS_6detail5ArrayIPcLi1EEEEEviT0_T1_",
    "void flash::flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<128, 64, 128, 4, false>, true>(Flash_fwd_params)",
    "triton_poi_fused__scaled_dot_product_flash_attention_cat_transpose_view_10",
    "ampere_fp16_s16816gemm_fp16_128x64_ldg8_f2f_stages_64x4_tn",
    "task-3f9c2d81e07b4a5596d1c0ffee123456",
    "mask-attention-with-a-very-long-name-0123456789abcdef",
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "num_tokens=131072, max_new_tokens: 4096, eos_token_id=151645, token_ids=[1, 2, 3]",
    '{"pad_token":"<|endoftext|>","eos_token":"</s>","tokenizer":"LlamaTokenizerFast"}',
    "vllm/model_executor/layers/vocab_parallel_embedding.py(412): get_masked_input_and_mask",
    "MoeTokenPermute_MoeTokenPermute_12",
    "key_cache: Tensor, value_cache: Tensor, key=attention_key_states_0",
    "user_annotation: Basic block 12, bearer of the flow",
    "https://github.com/pytorch/pytorch/blob/main/torch/profiler/profiler.py",
    "cuda:0@stream7, module@custom-call.123456789012",
    "disk-cache-0123456789abcdefghij, risk-adjusted-0123456789abcdefghij",
    "half_0123456789abcdefghijklmnopqrstuv, weighs_0123456789",
    "NVIDIA H100 80GB HBM3, AMD Instinct MI300X, ASIACELL, B6F59249500C41EFA3BEA0632025F38C",
    "AKIAI, eyJ, xoxo, ghp_, hf_hub_download, sk-learn, glpat",
)
