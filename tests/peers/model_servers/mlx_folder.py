"""Writes the tiny model for MLX: a folder with weights and vocabulary in the format of Hugging Face's libraries.

Usage: ``python mlx_folder.py FOLDER``, in an environment with `mlx-lm`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import tiny_model

PARTS = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
NAMES = {
    "token_embd.weight": "model.embed_tokens.weight",
    "output_norm.weight": "model.norm.weight",
    "output.weight": "lm_head.weight",
    **{f"blk.0.{ours}.weight": f"model.layers.0.{theirs}.weight" for ours, theirs in PARTS.items()},
}
"""The tensors' names in a GGUF file and in the MLX folder."""


def config(vocabulary: tiny_model.Vocabulary) -> dict[str, Any]:
    """The content of `config.json`."""
    return {
        "model_type": "llama",
        "architectures": ["LlamaForCausalLM"],
        "hidden_size": tiny_model.WIDTH,
        "num_hidden_layers": 1,
        "intermediate_size": tiny_model.HIDDEN,
        "num_attention_heads": 1,
        "num_key_value_heads": 1,
        "head_dim": tiny_model.HEAD,
        "rms_norm_eps": 1e-6,
        "vocab_size": len(vocabulary.texts),
        "rope_theta": tiny_model.ROPE_BASE,
        "rope_traditional": True,
        "tie_word_embeddings": False,
        "max_position_embeddings": tiny_model.CONTEXT,
        "bos_token_id": 1,
        "eos_token_id": 2,
    }


def tokenizer(vocabulary: tiny_model.Vocabulary) -> Any:
    """The tokenizer: letters, bytes, and the tokens that stay whole."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers

    numbers = {text.decode(): number for number, text in enumerate(vocabulary.texts)}
    made = Tokenizer(models.BPE(numbers, [], byte_fallback=True, unk_token=tiny_model.UNKNOWN))
    made.normalizer = normalizers.Replace(" ", "▁")
    made.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    special = (tiny_model.UNKNOWN, tiny_model.BEGIN, tiny_model.END)
    made.add_special_tokens([AddedToken(text, normalized=False) for text in special])
    made.add_tokens([AddedToken(text, normalized=False) for text in vocabulary.whole])
    return made


def write(folder: Path) -> None:
    """Write the model to the new *folder*."""
    from safetensors.numpy import save_file

    vocabulary = tiny_model.Vocabulary()
    folder.mkdir()
    save_file(
        {NAMES[name]: each for name, each in tiny_model.weights(vocabulary).items()}, folder / "model.safetensors"
    )
    tokenizer(vocabulary).save(str(folder / "tokenizer.json"))
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": tiny_model.BEGIN,
        "eos_token": tiny_model.END,
        "unk_token": tiny_model.UNKNOWN,
        "clean_up_tokenization_spaces": False,
        "model_max_length": tiny_model.CONTEXT,
        "chat_template": tiny_model.TEMPLATE,
    }
    (folder / "config.json").write_text(json.dumps(config(vocabulary)), encoding="utf-8")
    (folder / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
