r"""Trains the encoder behind `usl_h_dialens` and `dialog_rpt_dialens_…`.

    python -m recipes.ranker.train teach --threads INGESTED --chats FOLDER \
        --encoder MPNET --seconds 170 --out teacher
    python -m recipes.ranker.train train --threads INGESTED --chats FOLDER \
        --encoder MINILM --seconds 200 --out first
    python -m recipes.ranker.train train … --encoder first --taught teacher \
        --ranking --seconds 200 --out ranker

Comparisons are learned as DialogRPT does: the chance that the better of two replies wins is the
logistic function of the difference of their scores. A teacher, a larger encoder, first learns the
tasks that read pairs; the student then believes half the teacher and half the data. Nothing is
chosen by the held-out threads: training ends when its time or its epochs are over.
"""

from __future__ import annotations

import argparse
import json
import logging
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional

from dialens.base import DialensError
from dialens.models import token_batches
from dialens.models.training import Encoder, best_device, load_encoder, save_encoder
from recipes.ranker.masked import (
    MaskedHead,
    hidden_loss,
    load_head,
    log_likelihood,
    random_places,
    save_head,
)
from recipes.ranker.pools import HEADS, OUTPUTS, Pools, asked, figures, make_pools
from recipes.ranker.threads import RANKED, load_threads
from recipes.ranker.token_store import TokenStore

_HIDDEN_SHARE = 1 / 6
_LIKELIHOODS = 4000
_TRUST = 0.5  # in the teacher, against the data
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Shares:
    """How many of each kind a step takes; none of what is not trained."""

    masked: int = 0
    valid: int = 0
    given: int = 0
    ranked: int = 0


@dataclass
class Clock:
    """How much of the training is over: by time or by steps, whichever comes first."""

    seconds: float
    steps: int
    begun: float = field(default_factory=time.monotonic)
    step: int = 0

    def past(self) -> float:
        """Return the share that is over."""
        return max((time.monotonic() - self.begun) / self.seconds, self.step / self.steps)


@dataclass(frozen=True)
class Taught:
    """A teacher's logits for replies given and elsewhere, and for ranked pairs; NaN: not asked."""

    given: np.ndarray
    elsewhere: np.ndarray
    ranked: np.ndarray


def rounds(size: int, count: int, seed: int) -> Iterator[np.ndarray]:
    """Yield batches of rows without end, in a new order each time round."""
    generator = np.random.default_rng(seed)
    while True:
        order = generator.permutation(size)
        for start in range(0, max(1, size - count + 1), count):
            yield order[start : start + count]


class Trainer:
    """One encoder in training."""

    def __init__(
        self,
        model: Encoder,
        head: MaskedHead,
        pools: Pools,
        store: TokenStore,
        shares: Shares,
        *,
        seed: int,
        taught: Taught | None = None,
    ) -> None:
        self.model = model
        self.head = head
        self.pools = pools
        self.store = store
        self.taught = taught
        self.telling = True
        self.generator = np.random.default_rng(seed)
        self.high = np.concatenate([pools.ranked[what].higher for what in RANKED])
        self.low = np.concatenate([pools.ranked[what].lower for what in RANKED])
        sizes = [len(pools.ranked[what]) for what in RANKED]
        self.task = np.repeat([HEADS[what].start for what in RANKED], sizes)
        kinds = {
            self.masked: (len(pools.plain), shares.masked),
            self.valid: (len(pools.whole), shares.valid),
            self.following: (len(pools.given), shares.given),
            self.ranking: (len(self.high), shares.ranked),
        }
        self.kinds = [
            (loss, rounds(size, min(size, count), seed + i))
            for i, (loss, (size, count)) in enumerate(kinds.items())
            if size and count
        ]

    def step(self) -> dict[str, float]:
        """Add the gradients of one batch of every kind, and return the losses if telling."""
        device = self.store.device
        told = {}
        for loss, rows in self.kinds:
            with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
                value = loss(next(rows))
            value.backward()  # type: ignore[no-untyped-call, unused-ignore]
            told[loss.__name__] = value.detach()
        return {name: float(value) for name, value in told.items()} if self.telling else {}

    def masked(self, rows: np.ndarray) -> torch.Tensor:
        """Language model: a sixth of the tokens is hidden."""
        batch = self.store.texts(self.pools.plain[rows])
        places = random_places(batch, _HIDDEN_SHARE)
        each = hidden_loss(self.model, self.head, batch, places, self.store.mask_token)
        return each.mean() if len(each) else each.sum()

    def valid(self, rows: np.ndarray) -> torch.Tensor:
        """USL-H's valid utterance: whole texts against broken ones."""
        both = np.concatenate([self.pools.whole[rows], self.pools.spoilt[rows]])
        logits = self.model(*self.store.texts(both).parts())[:, HEADS["valid_utterance"].start]
        goal = torch.zeros_like(logits)
        goal[: len(rows)] = 1
        return functional.binary_cross_entropy_with_logits(logits.float(), goal.float())

    def following(self, rows: np.ndarray) -> torch.Tensor:
        """USL-H's next utterance, and DialogRPT's human against random."""
        given, other = self.pools.given[rows], self.pools.elsewhere[rows]
        logits = self._pair_logits(np.concatenate([given, other]), np.concatenate([given, given]))
        size = len(rows)
        goal = torch.zeros(2 * size, device=logits.device)
        goal[:size] = 1
        follows = HEADS["next_utterance"].start
        human = HEADS["human_vs_rand"].start
        wins = torch.ones(size, device=logits.device)
        if self.taught is not None:
            high = torch.from_numpy(self.taught.given[rows]).to(logits.device)
            low = torch.from_numpy(self.taught.elsewhere[rows]).to(logits.device)
            goal = _believed(goal, torch.cat([high, low])[:, follows])
            wins = _believed(wins, (high - low)[:, human])
        loss = functional.binary_cross_entropy_with_logits(logits[:, follows], goal)
        apart = logits[:size, human] - logits[size:, human]
        return loss + functional.binary_cross_entropy_with_logits(apart, wins)

    def ranking(self, rows: np.ndarray) -> torch.Tensor:
        """DialogRPT's width, depth and updown: the better of two replies to one parent."""
        high, low = self.high[rows], self.low[rows]
        logits = self._pair_logits(np.concatenate([high, low]), np.concatenate([high, high]))
        own = torch.from_numpy(self.task[rows]).to(logits.device)[:, None]
        size = len(rows)
        apart = (logits[:size] - logits[size:]).gather(1, own)[:, 0]
        wins = torch.ones(size, device=logits.device)
        if self.taught is not None:
            wins = _believed(wins, torch.from_numpy(self.taught.ranked[rows]).to(logits.device))
        return functional.binary_cross_entropy_with_logits(apart, wins)

    def _pair_logits(self, replies: np.ndarray, contexts: np.ndarray) -> torch.Tensor:
        size = len(replies) // 2
        # Half of the contexts with the turn before, the same for both replies.
        with_earlier = np.tile(self.generator.random(size) < 0.5, 2)
        earlier = np.where(with_earlier, self.pools.earlier[contexts], -1)
        batch = self.store.pairs(earlier, self.pools.parent[contexts], replies)
        result: torch.Tensor = self.model(*batch.parts()).float()
        return result


def _believed(goal: torch.Tensor, logits: torch.Tensor) -> torch.Tensor:
    soft = _TRUST * torch.sigmoid(logits) + (1 - _TRUST) * goal
    return torch.where(torch.isnan(logits), goal, soft).float()


def train(trainer: Trainer, *, rate: float, seconds: float, steps: int) -> dict[str, float]:
    """Train until time or steps are over; the rate rises, then falls to nothing."""
    parameters = [*trainer.model.parameters(), *trainer.head.parameters()]
    optimiser = torch.optim.AdamW(
        [
            {"params": [p for p in parameters if p.dim() > 1], "weight_decay": 0.01},
            {"params": [p for p in parameters if p.dim() <= 1], "weight_decay": 0.0},
        ],
        lr=rate,
        fused=parameters[0].is_cuda,
    )
    clock = Clock(seconds, steps)
    told: dict[str, float] = {}
    trainer.model.train()
    while (past := clock.past()) < 1:
        for group in optimiser.param_groups:
            group["lr"] = rate * min(past / 0.05 + 0.01, (1 - past) / 0.95)
        optimiser.zero_grad(set_to_none=True)
        trainer.telling = clock.step % 200 == 0
        losses = trainer.step()
        if losses:
            told = losses
            _log.info("step %d (%.0f %%): %s", clock.step, 100 * past, _short(told))
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimiser.step()
        clock.step += 1
    trainer.model.eval()
    return {"steps": clock.step, "seconds": time.monotonic() - clock.begun, **told}


def predict(
    model: Encoder,
    store: TokenStore,
    pools: Pools,
    replies: np.ndarray,
    contexts: np.ndarray | None,
    *,
    until: float | None = None,
) -> np.ndarray:
    """Return the logits of replies alone or under contexts; NaN where time ran out."""
    found = np.full((len(replies), OUTPUTS), np.nan, dtype=np.float32)
    lengths = np.minimum(store.length[replies], store.longest)
    if contexts is not None:
        above = store.length[pools.earlier[contexts]] + store.length[pools.parent[contexts]]
        lengths = np.minimum(lengths + above, store.longest)
    batches = list(token_batches(lengths + 4, 65536))
    order = np.random.default_rng(0).permutation(len(batches))
    device = store.device
    with (
        torch.inference_mode(),
        torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"),
    ):
        for number in order:
            if until is not None and time.monotonic() > until:
                break
            rows = batches[number]
            if contexts is None:
                batch = store.texts(replies[rows])
            else:
                above = contexts[rows]
                batch = store.pairs(pools.earlier[above], pools.parent[above], replies[rows])
            found[rows] = model(*batch.parts()).float().cpu().numpy()
    return found


def likelihoods(
    model: Encoder, head: MaskedHead, store: TokenStore, rows: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the log-likelihood of texts and how many tokens each has."""
    total = np.zeros(len(rows), dtype=np.float32)
    tokens = np.minimum(store.length[rows], store.longest - 2)
    for some in token_batches(tokens + 2, 16384):
        batch = store.texts(rows[some])
        total[some] = log_likelihood(model, head, batch, store.mask_token).cpu().numpy()
    return total, tokens


def measure(
    model: Encoder, head: MaskedHead | None, store: TokenStore, pools: Pools
) -> tuple[dict[str, dict[str, object]], dict[str, np.ndarray]]:
    """Return the figures on held-out threads, and the logits behind them."""
    logits = {
        name: predict(model, store, pools, replies, contexts)
        for name, (replies, contexts) in asked(pools).items()
    }
    found = figures(logits, pools)
    if head is not None:
        total, tokens = likelihoods(model, head, store, pools.plain[:_LIKELIHOODS])
        logits["likelihood"] = np.stack([total, tokens], axis=1)
        found["likelihood"] = {
            "perplexity of hidden tokens": float(np.exp(-total.sum() / tokens.sum()))
        }
    return found, logits


def _needed(pools: Pools) -> list[str]:
    # The texts that the figures ask for; others stay empty, to save the tokenizer's time.
    rows = [pools.plain[:_LIKELIHOODS]]
    for replies, contexts in asked(pools).values():
        rows.append(replies)
        if contexts is not None:
            rows += [pools.earlier[contexts], pools.parent[contexts]]
    wanted = {int(i) for some in rows for i in some}
    return [text if i in wanted else "" for i, text in enumerate(pools.texts)]


def _short(told: dict[str, float]) -> str:
    return " ".join(f"{name} {value:.3f}" for name, value in told.items())


def _teach(given: argparse.Namespace, trainer: Trainer, out: Path) -> None:
    # What the teacher says about everything the student will be asked.
    until = time.monotonic() + given.telling
    model, store, pools = trainer.model, trainer.store, trainer.pools
    high = predict(model, store, pools, trainer.high, trainer.high, until=until)
    low = predict(model, store, pools, trainer.low, trainer.high, until=until)
    rows = np.arange(len(trainer.high))
    apart = (high - low)[rows, trainer.task]
    replies = np.concatenate([pools.given, pools.elsewhere])
    both = predict(model, store, pools, replies, np.tile(pools.given, 2), until=until)
    size = len(pools.given)
    said = {"ranked": apart, "given": both[:size], "elsewhere": both[size:]}
    known = {name: round(float((~np.isnan(one)).mean()), 3) for name, one in said.items()}
    _log.info("told, share: %s", known)
    np.savez(out / "taught.npz", **{n: v.astype(np.float16) for n, v in said.items()})  # type: ignore[arg-type, unused-ignore]


def _wait(folders: list[Path], until: float | None) -> None:
    # Reading and encoding take a minute; they can go on while others still train.
    while not all((folder / "report.json").exists() for folder in folders):
        if until is not None and time.time() > until:
            raise DialensError(f"{folders[0]} was not ready in time: give a later --until")
        time.sleep(1)


def _read_taught(folders: list[Path]) -> Taught | None:
    loaded = [np.load(one / "taught.npz") for one in folders if (one / "taught.npz").exists()]
    if not loaded:
        return None
    mean = {
        name: np.mean([one[name].astype(np.float32) for one in loaded], axis=0)
        for name in ("given", "elsewhere", "ranked")
    }
    return Taught(**mean)


def main() -> None:
    """Train a teacher or the student."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("teach", "train"))
    parser.add_argument("--threads", type=Path, required=True, help="from engagement ingest")
    parser.add_argument("--chats", type=Path, help="folder of rated chats")
    parser.add_argument("--encoder", type=Path, required=True, help="where it starts")
    parser.add_argument("--tokenizer", type=Path, help="folder of the tokenizer, if another")
    parser.add_argument("--taught", type=Path, nargs="*", default=[], help="teachers' folders")
    parser.add_argument("--ranking", action="store_true", help="learn width, depth and updown too")
    parser.add_argument("--rate", type=float)
    parser.add_argument("--scale", type=float, default=1.0, help="of the batches")
    parser.add_argument("--seconds", type=float, default=200)
    parser.add_argument("--until", type=float, help="end of training at the latest, UNIX time")
    parser.add_argument("--wait", action="store_true", help="until another run made the encoder")
    parser.add_argument("--telling", type=float, default=60, help="seconds for a teacher's word")
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=int, help="comments, for a rehearsal")
    parser.add_argument("--measured", type=int, default=8000, help="held-out rows of each kind")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    torch.manual_seed(options.seed)
    device = best_device()
    threads = load_threads(options.threads, options.limit)
    pools = make_pools(threads, options.chats, held_out=False, seed=0)
    _log.info("%d comments, %d replies given", len(threads), len(pools.given))
    words = options.tokenizer or options.encoder
    store = TokenStore(words, pools.texts, device)
    _log.info("tokens are on the device")
    teaching = options.what == "teach"
    sizes = (0, 0, 96, 96) if teaching else (384, 128, 256, 96 if options.ranking else 0)
    masked, valid, following, ranked = (int(options.scale * one) for one in sizes)
    if options.wait:
        _wait([options.encoder, *options.taught], options.until)
    model = load_encoder(options.encoder, OUTPUTS, dropout=0.1 if teaching else 0.05).to(device)
    head = load_head(options.encoder, model).to(device)
    trainer = Trainer(
        model,
        head,
        pools,
        store,
        Shares(masked, valid, following, ranked),
        seed=options.seed,
        taught=None if teaching else _read_taught(options.taught),
    )
    rate = options.rate or (4e-5 if teaching else 4e-4)
    seconds = min(options.seconds, (options.until or np.inf) - time.time())
    report = train(trainer, rate=rate, seconds=seconds, steps=options.steps)
    options.out.mkdir(parents=True, exist_ok=True)
    if teaching:
        _teach(options, trainer, options.out)
    else:
        save_encoder(model, options.out, half=True)
        save_head(head, options.out)
        shutil.copy(words / "tokenizer.json", options.out / "tokenizer.json")
    unseen = make_pools(threads, options.chats, held_out=True, seed=1, most=options.measured)
    view = TokenStore(words, _needed(unseen), device)
    found, logits = measure(model, None if teaching else head, view, unseen)
    np.savez(options.out / "logits.npz", **logits)  # type: ignore[arg-type, unused-ignore]
    told = {"training": report, "figures": found}
    (options.out / "report.json").write_text(json.dumps(told, indent=1))
    _log.info("%s", json.dumps(told))


if __name__ == "__main__":
    main()
