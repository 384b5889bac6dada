"""Agents from one GGUF file; its weights are unpacked to full precision and run by PyTorch."""

from pathlib import Path

from dialens.agents.agent import AgentSpec
from dialens.agents.generation import GenerationSettings, LocalAgent
from dialens.agents.settings import Named, read_settings
from dialens.agents.transformers_folder import ready
from dialens.errors import DialensError
from dialens.models.folders import FolderError, load_gguf
from dialens.storage import sha256_file

_MAGIC = b"GGUF"


def open_agent(spec: AgentSpec) -> LocalAgent:
    """A language model in a GGUF file, of an architecture that transformers can unpack."""
    settings = read_settings(GenerationSettings, spec)
    path = Path(spec.target)
    if not spec.target or not path.is_file():
        raise DialensError(f"{spec.target or 'gguf'} is not a file. Write gguf:FILE.")
    with path.open("rb") as file:
        if file.read(4) != _MAGIC:
            raise DialensError(f"{path} is not a GGUF file: it does not begin with GGUF.")
    try:
        model, tokenizer = load_gguf(path)
    except FolderError as error:
        raise DialensError(
            f"{error}. The file may be damaged, or of an architecture that transformers does not "
            "unpack; serve it with llama.cpp instead and use openai:MODEL."
        ) from error
    local = ready(model, tokenizer, seq2seq=False, separator=tokenizer.eos_token or "\n")
    named = Named.of(spec, GenerationSettings)
    return LocalAgent(
        named.system, named.name, named.parameters, settings, local, sha256_file(path)
    )
