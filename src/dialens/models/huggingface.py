"""Users' own Hugging Face classifiers, through the ``train`` extra (PyTorch, transformers)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from dialens.errors import DialensError
from dialens.models.classifiers import ClassifierConfig, read_config
from dialens.models.inputs import TextInput, check_inputs
from dialens.models.runtime import Advance, activated, length_sorted, shown_progress
from dialens.storage import sha256_file

WEIGHTS = ("model.safetensors", "model.safetensors.index.json")
"""Files by which a folder of weights is known: whole, or in pieces."""


class TorchModel:
    """A sequence-classification folder with the same face as :class:`~dialens.models.Model`.

    Args:
        folder: Holds ``config.json``, the tokenizer's files and ``model.safetensors``.
        threads: CPU threads of PyTorch; 0 leaves them as they are.
    """

    def __init__(self, folder: Path, *, threads: int = 0) -> None:
        self.folder = folder
        self.threads = threads
        self._parts: tuple[Any, Any] | None = None

    def __repr__(self) -> str:
        return f"TorchModel({str(self.folder)!r})"

    @cached_property
    def config(self) -> ClassifierConfig:
        """What the folder's ``config.json`` says."""
        return read_config(self.folder)

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
        file = next(self.folder / name for name in WEIGHTS if (self.folder / name).is_file())
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
            advance: Told how many more inputs are done; replaces the bar.
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
        check_inputs(inputs, pair=None, what=self.folder.name)
        model, tokenizer = self._loaded()
        import torch

        lengths = [len(one) if isinstance(one, str) else len(one[0] + one[1]) for one in inputs]
        found = np.empty((len(inputs), len(self.labels)), dtype=np.float32)
        title = label or f"Model {self.folder.name}"
        with shown_progress(title, len(inputs), advance) as tell, torch.inference_mode():
            for rows in length_sorted(lengths):
                chosen = [inputs[i] for i in rows]
                first = [one if isinstance(one, str) else one[0] for one in chosen]
                second = [one[1] for one in chosen if not isinstance(one, str)]
                batch = tokenizer(
                    first,
                    second or None,
                    padding=True,
                    truncation=True,
                    max_length=min(self.config.longest, tokenizer.model_max_length),
                    return_tensors="pt",
                )
                found[rows] = model(**batch).logits.numpy()
                tell(len(rows))
        return found

    def _loaded(self) -> tuple[Any, Any]:
        if self._parts is None:
            try:
                import torch
                from transformers import AutoModelForSequenceClassification, AutoTokenizer
            except ImportError as error:
                raise DialensError(
                    f"{self.folder} is a PyTorch model: install the extra with "
                    "`pip install 'dialens[train]'`, or export it to an ONNX folder"
                ) from error
            if self.threads:
                torch.set_num_threads(self.threads)
            place = str(self.folder)
            try:
                model = AutoModelForSequenceClassification.from_pretrained(
                    place, use_safetensors=True, local_files_only=True
                )
                tokenizer = AutoTokenizer.from_pretrained(place, local_files_only=True)
            except (OSError, ValueError) as error:
                raise DialensError(f"{self.folder} cannot be loaded: {error}") from error
            self._parts = (model.eval(), tokenizer)
        return self._parts
