"""Users' own Hugging Face classifiers, through the ``train`` extra (PyTorch, transformers)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from dialens.base import DialensError, first_line, sha256_file
from dialens.models._batches import run_batches, token_batches
from dialens.models._classifiers import ClassifierConfig, read_config
from dialens.models._devices import chosen_device, memory_is_full, on_device
from dialens.models._folders import SAFE_WEIGHTS, FolderError, load_model, load_tokenizer
from dialens.models._inputs import TextInput, check_inputs, wordless_tokens
from dialens.models._runtime import Advance, Reading, activated, length_sorted, shown_progress

LOGITS = "logits"
"""The one output of such a classifier."""

_CHARACTERS_ON_DEVICE = 131_072  # of the texts of a batch, some 32,000 tokens


class TorchModel:
    """A sequence-classification folder with the same face as :class:`~dialens.models.Model`.

    Args:
        folder: Holds ``config.json``, the tokenizer's files and ``model.safetensors``.
        threads: CPU threads of PyTorch; 0 leaves them as they are.
        device: ``cpu``, ``cuda``, or ``auto`` for a graphics card where there is one; floats
            everywhere.
    """

    def __init__(self, folder: Path, *, threads: int = 0, device: str = "cpu") -> None:
        self.folder = folder
        self.threads = threads
        self.wanted_device = device
        self._parts: tuple[Any, Any] | None = None

    def __repr__(self) -> str:
        return f"TorchModel({str(self.folder)!r})"

    @cached_property
    def config(self) -> ClassifierConfig:
        """What the folder's ``config.json`` says."""
        return read_config(self.folder)

    @cached_property
    def device(self) -> str:
        """Where it computes.

        Raises:
            DialensError: A graphics card was asked for, and it cannot be used.
        """
        return chosen_device(self.wanted_device)

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the classes."""
        return self.config.labels

    @property
    def loaded(self) -> bool:
        """Whether the weights have been read."""
        return self._parts is not None

    @cached_property
    def signature(self) -> str:
        """The folder's name and the hash of its weights."""
        file = next(self.folder / name for name in SAFE_WEIGHTS if (self.folder / name).is_file())
        return f"{self.folder.resolve().name}:{sha256_file(file)[:12]}|torch"

    def predict(
        self,
        inputs: Sequence[TextInput],
        *,
        label: str | None = None,
        advance: Advance | None = None,
    ) -> np.ndarray:
        """Return probabilities: softmax over classes, or one sigmoid each if multi-label.

        A regression head gives its values as they are.

        Args:
            inputs: Texts, or (first, second) pairs; not mixed.
            label: Of the progress bar; none is shown for short jobs.
            advance: Called with the number of inputs just done; replaces the bar.
        """
        return activated(self.run(inputs, label=label, advance=advance), self.config.activation)

    def run(
        self,
        inputs: Sequence[TextInput],
        *,
        label: str | None = None,
        advance: Advance | None = None,
    ) -> np.ndarray:
        """Return the classifier's logits, one row an input."""
        return self.read(inputs, label=label, advance=advance).outputs[LOGITS]

    def read(
        self,
        inputs: Sequence[TextInput],
        outputs: Sequence[str] = (LOGITS,),
        *,
        label: str | None = None,
        advance: Advance | None = None,
    ) -> Reading:
        """Return the logits, and which inputs have a word that the tokenizer knows.

        Raises:
            DialensError: The model cannot be loaded or run, or does not fit its labels.
        """
        check_inputs(inputs, pair=None, what=self.folder.name)
        model, tokenizer = self._loaded()
        import torch

        lengths = [len(one) if isinstance(one, str) else len(one[0] + one[1]) for one in inputs]
        logits = np.empty((len(inputs), len(self.labels)), dtype=np.float32)
        known = np.empty(len(inputs), dtype=np.bool_)
        title = label or f"Model {self.folder.name}"
        with shown_progress(title, len(inputs), advance) as tell, torch.inference_mode():
            batches = length_sorted(lengths)
            if self.device != "cpu":
                batches = token_batches(lengths, _CHARACTERS_ON_DEVICE)
            done = run_batches(
                batches, lambda rows: self._run(model, tokenizer, [inputs[i] for i in rows])
            )
            for rows, found in done:
                logits[rows], known[rows] = found
                tell(len(rows))
        return Reading(dict.fromkeys(outputs, logits), known)

    def _run(
        self, model: Any, tokenizer: Any, inputs: list[TextInput]
    ) -> tuple[np.ndarray, list[bool]]:
        first = [one if isinstance(one, str) else one[0] for one in inputs]
        second = [one[1] for one in inputs if not isinstance(one, str)]
        try:
            batch = tokenizer(
                first,
                second or None,
                padding=True,
                truncation=True,
                max_length=self._longest(tokenizer),
                return_tensors="pt",
            )
            logits = model(**batch.to(self.device)).logits.float().cpu().numpy()
        except (IndexError, RuntimeError, ValueError) as error:
            if memory_is_full(error):
                raise
            raise DialensError(
                f"{self.folder} cannot be run: {first_line(error)}. Weights, tokenizer and "
                "config.json must come from one model"
            ) from error
        if logits.shape[1:] != (len(self.labels),):
            raise DialensError(
                f"{self.folder} gives {logits.shape[-1]} numbers a text, and config.json names "
                f"{len(self.labels)} labels ({', '.join(self.labels)}): mend the labels"
            )
        return logits, _known(tokenizer, batch, pairs=bool(second))

    def check(self, outputs: Sequence[str] = (LOGITS,)) -> None:
        """Try it on a short and a long text.

        Raises:
            DialensError: Weights, tokenizer and labels do not fit each other.
        """
        model, tokenizer = self._loaded()
        rows = len(model.get_input_embeddings().weight)
        if tokenizer.vocab_size > rows:
            raise DialensError(
                f"{self.folder}: the tokenizer has {tokenizer.vocab_size} tokens and the model "
                f"{rows}; both must come from one model"
            )
        self.read(["word", "word " * self._longest(tokenizer)], outputs, advance=lambda _: None)

    def _longest(self, tokenizer: Any) -> int:
        return min(self.config.longest, int(tokenizer.model_max_length))

    def _loaded(self) -> tuple[Any, Any]:
        if self._parts is None:
            try:
                import torch
                import transformers  # noqa: F401
            except ImportError as error:
                raise DialensError(
                    f"{self.folder} is a PyTorch model: install the extra with "
                    "`pip install 'dialens[train]'`, or export it to an ONNX folder"
                ) from error
            if self.threads:
                torch.set_num_threads(self.threads)
            self._parts = self._load()
        return self._parts

    def _load(self) -> tuple[Any, Any]:
        kind = "AutoModelForSequenceClassification"
        tokenizer = load_tokenizer(self.folder)
        try:
            # Mismatched sizes are reported by name below, not in the library's words.
            loaded = load_model(self.folder, kind, ignore_mismatched_sizes=True)
        except FolderError as error:
            raise DialensError(f"{error}. Save or fetch it again") from error
        gaps = loaded.gaps()
        if gaps is not None:
            raise DialensError(
                f"{self.folder} is no trained classifier: {gaps}. Give a folder saved after "
                "training"
            )
        return on_device(loaded.model, self.device, self.folder), tokenizer


def _known(tokenizer: Any, batch: Any, *, pairs: bool) -> list[bool]:
    """Whether each input has a known word, in each of its texts; yes, where it cannot be told."""
    if batch.encodings is None:
        return [True] * len(batch["input_ids"])
    wordless = wordless_tokens(tokenizer.backend_tokenizer)
    texts = [
        {
            text
            for text, token in zip(one.sequence_ids, one.ids, strict=True)
            if token not in wordless
        }
        for one in batch.encodings
    ]
    return [len(found - {None}) == 1 + pairs for found in texts]
