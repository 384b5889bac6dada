"""Agents from one GGUF file; its weights are unpacked to full precision and run by PyTorch."""

from pathlib import Path

from dialens.agents._agent import AgentSpec
from dialens.agents._settings import Named, read_settings
from dialens.agents.kinds._generation import GenerationSettings, LocalAgent
from dialens.agents.kinds._transformers_folder import ready
from dialens.base import DialensError, sha256_file
from dialens.models import FolderError, chosen_device, load_gguf

_MAGIC = b"GGUF"


def open_agent(spec: AgentSpec) -> LocalAgent:
    """A language model in a GGUF file, of an architecture that transformers can unpack."""
    settings = read_settings(GenerationSettings, spec)
    path = gguf_path(spec)
    device = chosen_device(settings.device, also=("mps",), option="device=")
    try:
        model, tokenizer = load_gguf(path)
    except FolderError as error:
        raise DialensError(
            f"{error}. The file may be damaged, or of an architecture that transformers does not "
            "unpack; run it in its own precision with llama:FILE, or serve it with llama.cpp and "
            "use openai:MODEL."
        ) from error
    separator = tokenizer.eos_token or "\n"
    local = ready(model, tokenizer, seq2seq=False, separator=separator, device=device)
    named = Named.of(spec, GenerationSettings)
    return LocalAgent(
        named.system, named.name, named.parameters, settings, local, sha256_file(path)
    )


def gguf_path(spec: AgentSpec) -> Path:
    """The file that a spec names, once it is sure that it is one."""
    path = Path(spec.target)
    if not spec.target or not path.is_file():
        raise DialensError(f"{spec.target or spec.kind} is not a file. Write {spec.kind}:FILE.")
    with path.open("rb") as file:
        if file.read(4) != _MAGIC:
            raise DialensError(f"{path} is not a GGUF file: it does not begin with GGUF.")
    return path
