"""Agents from a Hugging Face model folder: causal (GPT-2, Llama …) or seq2seq (BlenderBot …)."""

import hashlib
from pathlib import Path
from typing import Any

from dialens.agents._agent import AgentSpec
from dialens.agents._settings import Named, read_settings
from dialens.agents.kinds._generation import GenerationSettings, LocalAgent, LocalModel, context_of
from dialens.base import DialensError, first_line, sha256_file
from dialens.models import FolderError, chosen_device, load_model, load_tokenizer, on_device

_SEPARATORS = {"blenderbot": "  ", "blenderbot-small": "  "}
"""Between turns, as these models were trained; others get their end-of-sequence token."""


def open_agent(spec: AgentSpec) -> LocalAgent:
    """A model folder; only safetensors are read, never a pickle, and no code from the folder."""
    settings = read_settings(GenerationSettings, spec)
    folder = Path(spec.target)
    if not spec.target or not folder.is_dir():
        raise DialensError(
            f"{spec.target or 'transformers'} is not a folder. An agent of transformers needs one "
            "with config.json, the tokenizer's files and model.safetensors: transformers:FOLDER."
        )
    if not (folder / "config.json").is_file():
        raise DialensError(f"{folder} is no model folder: it has no config.json.")
    weights = sorted(folder.glob("*.safetensors"))
    if not weights:
        pickles = [path.name for path in (*folder.glob("*.bin"), *folder.glob("*.pt"))]
        remedy = (
            f"{pickles[0]} may run any program when it is read: convert it with "
            "`model.save_pretrained(FOLDER)` where you trust it."
            if pickles
            else "Copy model.safetensors there."
        )
        raise DialensError(f"{folder} has no weights in safetensors. {remedy}")
    local = load_folder(
        folder, device=chosen_device(settings.device, also=("mps",), option="device=")
    )
    digest = hashlib.sha256()
    for path in weights:
        digest.update(sha256_file(path).encode())
    named = Named.of(spec, GenerationSettings, system=folder.resolve().name)
    return LocalAgent(
        named.system, named.name, named.parameters, settings, local, digest.hexdigest()
    )


def load_folder(folder: Path, *, device: str = "cpu") -> LocalModel:
    """Load the model and the tokenizer of a folder."""
    from transformers import AutoConfig

    try:
        config = AutoConfig.from_pretrained(str(folder), local_files_only=True)
    except Exception as error:  # each of the libraries beneath has kinds of errors of its own
        raise FolderError(f"{folder} cannot be loaded", first_line(error)) from error
    seq2seq = bool(config.is_encoder_decoder)
    kind = "AutoModelForSeq2SeqLM" if seq2seq else "AutoModelForCausalLM"
    loaded = load_model(folder, kind, config=config)
    gaps = loaded.gaps()
    if gaps is not None:
        raise DialensError(f"{folder} is no whole model: {gaps}. Copy all of its files.")
    tokenizer = load_tokenizer(folder)
    separator = _SEPARATORS.get(config.model_type, tokenizer.eos_token or "\n")
    return ready(loaded.model, tokenizer, seq2seq=seq2seq, separator=separator, device=device)


def ready(model: Any, tokenizer: Any, *, seq2seq: bool, separator: str, device: str) -> LocalModel:
    """A loaded model, set to answer."""
    # What a folder says of decoding would be mixed with our settings, and warned about.
    config = model.generation_config
    for name in ("max_length", "min_length", "forced_eos_token_id"):
        setattr(config, name, type(config)().__dict__.get(name))
    context = context_of(model.config, tokenizer)
    tokenizer.model_max_length = 10**30  # we see to the length ourselves, it would only warn
    model = on_device(model, device, "the model")
    return LocalModel(model, tokenizer, seq2seq, separator, context, device)
