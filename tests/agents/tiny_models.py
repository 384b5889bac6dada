"""Language models of a few thousand random weights: real architectures, real files."""

from __future__ import annotations

from pathlib import Path

import gguf
import numpy as np
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import (
    BlenderbotConfig,
    BlenderbotForConditionalGeneration,
    GPT2Config,
    GPT2LMHeadModel,
    PreTrainedTokenizerFast,
)

LETTERS = " abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.,:?!'\n0123456789<>|_"
CHAT_TEMPLATE = (
    "{% for message in messages %}<{{ message['role'] }}> {{ message['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}<assistant> {% endif %}"
)


def tokenizer(*, template: str | None = None) -> PreTrainedTokenizerFast:
    """One token a byte-level letter, and the two special ones."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {"<pad>": 0, "<eos>": 1} | {letter: n + 2 for n, letter in enumerate(alphabet)}
    made = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(
        tokenizer_object=made,
        pad_token="<pad>",
        eos_token="<eos>",
        bos_token="<eos>",
        model_max_length=128,
        chat_template=template,
    )


def causal_folder(folder: Path, *, template: str | None = None) -> Path:
    """A GPT-2 of one layer."""
    torch.manual_seed(0)
    config = GPT2Config(
        vocab_size=258,
        n_positions=128,
        n_embd=32,
        n_layer=1,
        n_head=2,
        bos_token_id=1,
        eos_token_id=1,
        pad_token_id=0,
    )
    GPT2LMHeadModel(config).save_pretrained(folder)
    tokenizer(template=template).save_pretrained(folder)
    return folder


def seq2seq_folder(folder: Path) -> Path:
    """A BlenderBot of one layer."""
    torch.manual_seed(0)
    config = BlenderbotConfig(
        vocab_size=258,
        d_model=32,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=32,
        decoder_ffn_dim=32,
        max_position_embeddings=128,
        bos_token_id=1,
        eos_token_id=1,
        forced_eos_token_id=1,
        decoder_start_token_id=1,
        pad_token_id=0,
    )
    BlenderbotForConditionalGeneration(config).save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    return folder


def gguf_file(path: Path, *, template: str = CHAT_TEMPLATE) -> Path:
    """A Llama of one layer in one file, written with the format's own package."""
    width, heads, inner = 32, 2, 64
    known = tokenizer().get_vocab()
    ordered = [*sorted(known, key=known.__getitem__), "ab"]
    draw = np.random.default_rng(0)

    def weights(*shape: int) -> np.ndarray:
        return draw.normal(0, 0.2, shape).astype(np.float32)

    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_name("tiny")
    writer.add_context_length(128)
    writer.add_embedding_length(width)
    writer.add_block_count(1)
    writer.add_feed_forward_length(inner)
    writer.add_head_count(heads)
    writer.add_head_count_kv(heads)
    writer.add_rope_dimension_count(width // heads)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(len(ordered))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(ordered)
    writer.add_token_types([3, 3] + [1] * (len(ordered) - 2))
    writer.add_token_merges(["a b"])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(1)
    writer.add_pad_token_id(0)
    writer.add_chat_template(template)
    writer.add_tensor("token_embd.weight", weights(len(ordered), width))
    writer.add_tensor("output.weight", weights(len(ordered), width))
    writer.add_tensor("output_norm.weight", np.ones(width, np.float32))
    writer.add_tensor("blk.0.attn_norm.weight", np.ones(width, np.float32))
    writer.add_tensor("blk.0.ffn_norm.weight", np.ones(width, np.float32))
    for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
        writer.add_tensor(f"blk.0.{name}.weight", weights(width, width))
    for name in ("ffn_gate", "ffn_up"):
        writer.add_tensor(f"blk.0.{name}.weight", weights(inner, width))
    writer.add_tensor("blk.0.ffn_down.weight", weights(width, inner))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
