"""Users' own Hugging Face classifiers, through the ``train`` extra (PyTorch, transformers)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dialens.errors import DialensError
from dialens.models.inputs import TextInput
from dialens.models.runtime import length_sorted


class TorchModel:
    """A sequence-classification folder with the same face as :class:`~dialens.models.Model`."""

    def __init__(self, folder: Path, *, threads: int = 0, longest: int = 256) -> None:
        self.folder = folder
        self.threads = threads
        self.longest = longest
        self._parts: tuple[Any, Any] | None = None

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the classes, from the folder's ``config.json``."""
        model, _ = self._loaded()
        names = model.config.id2label
        return tuple(str(names[i]) for i in range(model.config.num_labels))

    @property
    def signature(self) -> str:
        """The folder's name and the hash of its weights."""
        data = (self.folder / "model.safetensors").read_bytes()
        return f"{self.folder.name}:{hashlib.sha256(data).hexdigest()[:12]}|torch"

    def predict(self, inputs: Sequence[TextInput], *, label: str | None = None) -> np.ndarray:
        """Return probabilities: softmax over classes, or one sigmoid each if multi-label."""
        import torch

        model, tokenizer = self._loaded()
        lengths = [len(one) if isinstance(one, str) else len(one[0] + one[1]) for one in inputs]
        found = np.empty((len(inputs), model.config.num_labels), dtype=np.float32)
        single = model.config.problem_type != "multi_label_classification"
        with torch.inference_mode():
            for rows in length_sorted(lengths):
                chosen = [inputs[i] for i in rows]
                first = [one if isinstance(one, str) else one[0] for one in chosen]
                second = None if isinstance(chosen[0], str) else [one[1] for one in chosen]
                batch = tokenizer(
                    first,
                    second,
                    padding=True,
                    truncation=True,
                    max_length=self.longest,
                    return_tensors="pt",
                )
                logits = model(**batch).logits
                wide = single and logits.shape[1] > 1
                found[rows] = (logits.softmax(-1) if wide else logits.sigmoid()).numpy()
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
