r"""Teachers of empathy: a large encoder, whole, taught the sentences that were written for dialens.

python -m recipes.empathy.teach --encoder MPNET --pool pool.txt --out pool.npz

Six seeds; the mean of their logits on the sentences of the pool is what `recipes.empathy.fit`
gives to the heads. A head on a frozen encoder finds the words of ``written.txt`` again; an encoder
that learned them whole also finds what else says the same. Wants a GPU: four minutes on one.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from recipes.empathy.fit import LABELS, does, warmth
from recipes.empathy.written import Written, read

SEEDS, EPOCHS, RATE, BATCH, LONGEST = 6, 6, 3e-5, 16, 128
RARER = 0.5
"""Weight in the loss of what is done and how it stands, against that of warmth."""


def main() -> None:
    """Teach, and label the pool."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--encoder", type=Path, required=True, help="all-mpnet-base-v2's folder")
    parser.add_argument("--pool", type=Path, required=True, help="of recipes.empathy.pool")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    texts, targets, weights = examples(read())
    pool = options.pool.read_text("utf-8").splitlines()
    logits = []
    for seed in range(SEEDS):
        teacher = _Teacher(options.encoder, seed)
        loss = teacher.learn(texts, targets, weights)
        logits.append(teacher.logits(pool))
        print(f"seed {seed}: loss {loss:.3f}", flush=True)
    np.savez_compressed(options.out, logits=np.mean(logits, axis=0).astype(np.float16))


def examples(written: Written) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Texts with a target for each label, and how much it counts: 0 where it is not known."""
    told = [text for _, text in written.told]
    said = [text for *_, text in written.replies] + [text for _, text in written.sentences]
    targets = np.zeros((len(told) + len(said), len(LABELS)), np.float32)
    weights = np.zeros_like(targets)
    of_told, of_said = slice(0, len(told)), slice(len(told), None)
    moods = np.array([mood for mood, _ in written.told])
    answers = does(written)
    targets[of_said, 0], weights[of_said, 0] = warmth(written), 1.0
    for column, mood in ((1, "good"), (2, "bad")):
        targets[of_said, column], weights[of_said, column] = answers == mood, RARER
    for column, mood in ((3, "bad"), (4, "good")):
        targets[of_told, column], weights[of_told, column] = moods == mood, RARER
    return told + said, targets, weights


class _Teacher:
    """An encoder with a linear head on the mean of its last states."""

    def __init__(self, folder: Path, seed: int) -> None:
        import torch
        from transformers import AutoModel, AutoTokenizer

        torch.manual_seed(seed)
        self._seed = seed
        self._device = "cuda" if torch.cuda.is_available() else "cpu"
        self._tokens = AutoTokenizer.from_pretrained(folder)
        self._encoder = AutoModel.from_pretrained(folder, add_pooling_layer=False)
        self._head = torch.nn.Linear(self._encoder.config.hidden_size, len(LABELS))
        self._parts = torch.nn.ModuleList([self._encoder, self._head]).to(self._device)

    def learn(self, texts: list[str], targets: np.ndarray, weights: np.ndarray) -> float:
        """Train, and return the loss of the last epoch."""
        import torch

        per_epoch = max(1, len(texts) // BATCH)
        steps = EPOCHS * per_epoch
        optimiser = torch.optim.AdamW(self._parts.parameters(), lr=RATE, weight_decay=0.01)
        warm_up = 0.1 * steps + 1
        schedule = torch.optim.lr_scheduler.LambdaLR(
            optimiser, lambda step: min(1, (step + 1) / warm_up) * max(0, 1 - step / steps)
        )
        order = np.random.default_rng(self._seed)
        self._parts.train()
        total = 0.0
        for _ in range(EPOCHS):
            total = 0.0
            for rows in np.array_split(order.permutation(len(texts)), per_epoch):
                logits = self._run([texts[row] for row in rows])
                wanted, counts = (torch.as_tensor(one[rows]) for one in (targets, weights))
                loss = torch.nn.functional.binary_cross_entropy_with_logits(
                    logits, wanted.to(self._device), counts.to(self._device), reduction="sum"
                ) / counts.sum().clamp(min=1).to(self._device)
                loss.backward()  # type: ignore[no-untyped-call, unused-ignore]
                torch.nn.utils.clip_grad_norm_(self._parts.parameters(), 1.0)
                optimiser.step()
                schedule.step()
                optimiser.zero_grad()
                total += loss.item()
        return total / per_epoch

    def logits(self, texts: list[str]) -> np.ndarray:
        """A row a text."""
        import torch

        self._parts.eval()
        found = np.zeros((len(texts), len(LABELS)), np.float32)
        order = np.argsort([len(text) for text in texts], kind="stable")
        with torch.inference_mode():
            for rows in np.array_split(order, -(-len(texts) // 256)):
                found[rows] = self._run([texts[row] for row in rows]).cpu().numpy()
        return found

    def _run(self, texts: list[str]) -> Any:
        import torch

        batch = self._tokens(
            texts, padding=True, truncation=True, max_length=LONGEST, return_tensors="pt"
        ).to(self._device)
        with torch.autocast(self._device, dtype=torch.bfloat16):
            states = self._encoder(**batch).last_hidden_state
        mask = batch["attention_mask"][..., None]
        return self._head((states.float() * mask).sum(1) / mask.sum(1))


if __name__ == "__main__":
    main()
