"""USL-H: is a reply understandable, does it make sense here, is it specific?

Phy, Zhao and Aizawa 2020. Three BERT models: valid utterance (VUP), next utterance (NUP), and a
masked language model whose negative log-likelihood, brought between 0 and 1 by two quantiles of the
training replies, says how specific a reply is. Folders may be as transformers saves a classifier
and a masked language model, or hold the authors' own networks converted to safetensors (a linear
layer on the maximum of the states over tokens; a linear layer over the vocabulary). Pieces with an
index will do, and with the user's word pickles.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dialens.base import DialensError
from dialens.metrics._family import Family, NotReadyError, Output, ScorerContext, Unit
from dialens.metrics._pace import paced
from dialens.metrics._state import Floats
from dialens.metrics._units import distinct_replies
from dialens.metrics.families import _shipped_ranker as shipped_ranker
from dialens.metrics.families._hub import HUB
from dialens.metrics.families._shipped_ranker import between, composed, composition
from dialens.metrics.families._tensors import read_tensors
from dialens.metrics.families._token_encoder import longest
from dialens.metrics.families._weights import (
    TRANSFORMERS,
    Loaded,
    check_labels,
    check_tokens,
    lacking_packages,
    lacking_weights,
    load_folder,
    load_model,
)
from dialens.models import padded, run_batches, token_batches

NAME = "usl_h"
WHAT = {
    "usl_h_vup": "USL-H's valid-utterance model, a BERT with two outputs",
    "usl_h_nup": "USL-H's next-utterance model, a BERT with two outputs",
    "usl_h_mlm": "USL-H's masked language model, a BERT",
}
QUANTILES = "mlm_minmax_score.json"
"""Written by the authors' `normalize.py`: {"nll": {"min": …, "max": …}}; beside the weights."""

_TOKENS = {"cpu": 2048, "cuda": 32768}
_SPECIAL = 2  # tokens around a text
_CLASSES = 2
_OWN_HEADS = {"usl_h_vup": "linear", "usl_h_nup": "next_sent", "usl_h_mlm": "linear"}
_USUAL_HEADS = {
    "usl_h_vup": ("classifier.weight", "AutoModelForSequenceClassification"),
    "usl_h_nup": ("classifier.weight", "AutoModelForSequenceClassification"),
    "usl_h_mlm": ("cls.predictions.transform.dense.weight", "AutoModelForMaskedLM"),
}


@dataclass(frozen=True, eq=False)
class Network:
    """An encoder with its head, of either kind; `head` is None where transformers has both."""

    loaded: Loaded
    head: Any = None

    def logits(self, rows: Sequence["Tokens"]) -> Any:
        """One row an input (classifiers), or one for each token of it (language model)."""
        import torch

        device = self.loaded.device
        ids = padded([row.ids for row in rows], self.loaded.tokenizer.pad_token_id).to(device)
        read = padded([[1] * len(row.ids) for row in rows], 0).to(device)
        types = padded([row.types for row in rows], 0).to(device)
        fed = {"input_ids": ids, "attention_mask": read, "token_type_ids": types}
        if self.head is None:
            return self.loaded.model(**fed).logits
        states = self.loaded.model(**fed).last_hidden_state
        weight, bias, pooled = self.head
        if pooled:
            states = states.masked_fill(read[:, :, None] == 0, -torch.inf).amax(dim=1)
        return torch.nn.functional.linear(states, weight, bias)


@dataclass(frozen=True)
class Tokens:
    """Token ids of an input, special ones included, and their segments."""

    ids: list[int]
    types: list[int]


class UslHScorer:
    """USL-H and its parts VUP, NUP and MLM, one column each."""

    def __init__(
        self,
        networks: dict[str, Network],
        quantiles: tuple[float, float],
        how: str,
    ) -> None:
        self._valid, self._next, self._language = (networks[name] for name in WHAT)
        self._low, self._high = quantiles
        self._how = how
        marks = ",".join(network.loaded.signature for network in networks.values())
        self.signature = f"{marks},nll={self._low:g}-{self._high:g},composition={how}"

    def prepare(self, references: Iterable[str]) -> None:
        """Nothing is learned from references."""

    def score(
        self, units: Sequence[Unit], advance: Callable[[int], None] = lambda _: None
    ) -> Floats:
        """One row a unit; NaN in what needs a context where there is none."""
        replies, own = distinct_replies(units)
        rows = [row for row, unit in enumerate(units) if unit.context]
        pairs = [(" ".join(units[row].context), units[row].response) for row in rows]
        alone = [_tokens(self._language.loaded, None, text) for text in replies]
        hidden = sum(len(tokens.ids) - _SPECIAL for tokens in alone)
        tell = paced(advance, len(units), len(replies) + len(pairs) + hidden)
        valid = _chances(
            self._valid, [_tokens(self._valid.loaded, None, text) for text in replies], tell
        )
        fits = np.full(len(units), np.nan)
        if rows:
            inputs = [_tokens(self._next.loaded, *pair) for pair in pairs]
            fits[rows] = _chances(self._next, inputs, tell)
        surprise = between(self._surprise(alone, tell), self._low, self._high)
        parts = (valid[own], fits, surprise[own])
        return np.stack([composed(*parts, self._how), *parts], axis=1)

    def _surprise(self, texts: Sequence[Tokens], tell: Callable[[int], None]) -> Floats:
        """The negative log-likelihood of texts: each token predicted while it alone is hidden."""
        import torch

        network = self._language
        mask = int(network.loaded.tokenizer.mask_token_id)
        asked = [
            (row, at) for row, tokens in enumerate(texts) for at in range(1, len(tokens.ids) - 1)
        ]
        totals = np.zeros(len(texts))
        totals[[len(tokens.ids) == _SPECIAL for tokens in texts]] = np.nan
        lengths = [len(texts[row].ids) for row, _ in asked]

        def run(batch: np.ndarray) -> Floats:
            chosen = [asked[i] for i in batch]
            inputs = []
            for row, place in chosen:
                ids = list(texts[row].ids)
                ids[place] = mask
                inputs.append(Tokens(ids, texts[row].types))
            logits = network.logits(inputs)
            steps = torch.arange(len(chosen), device=logits.device)
            at = torch.tensor([place for _, place in chosen], device=logits.device)
            true = torch.tensor([texts[row].ids[place] for row, place in chosen])
            here = logits[steps, at].log_softmax(dim=-1)
            found: Floats = here[steps, true.to(logits.device)].cpu().double().numpy()
            return found

        with torch.inference_mode():
            batches = token_batches(lengths, _TOKENS[network.loaded.device])
            for batch, log_probability in run_batches(batches, run):
                np.add.at(totals, [asked[i][0] for i in batch], -log_probability)
                tell(len(batch))
        return totals


def _chances(network: Network, inputs: Sequence[Tokens], tell: Callable[[int], None]) -> Floats:
    """The probability of the second of two classes."""
    import torch

    chances = np.empty(len(inputs))

    def run(rows: np.ndarray) -> Floats:
        logits = network.logits([inputs[row] for row in rows])
        found: Floats = logits.softmax(dim=-1)[:, 1].cpu().double().numpy()
        return found

    with torch.inference_mode():
        lengths = [len(tokens.ids) for tokens in inputs]
        batches = token_batches(lengths, _TOKENS[network.loaded.device])
        for rows, found in run_batches(batches, run):
            chances[rows] = found
            tell(len(rows))
    return chances


def _tokens(loaded: Loaded, before: str | None, text: str) -> Tokens:
    """A text, or a context and a text: the context loses its beginning, a text its end."""
    tokenizer = loaded.tokenizer
    most = longest(loaded)
    begin, end = int(tokenizer.cls_token_id), int(tokenizer.sep_token_id)
    own = tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
    if before is None:
        ids = [begin, *own[: most - 2], end]
        return Tokens(ids, [0] * len(ids))
    earlier = tokenizer(before, add_special_tokens=False, verbose=False)["input_ids"]
    own = own[: most - 3]
    left = most - 3 - len(own)
    earlier = earlier[len(earlier) - left :] if len(earlier) > left else earlier
    ids = [begin, *earlier, end, *own, end]
    return Tokens(ids, [0] * (len(earlier) + 2) + [1] * (len(own) + 1))


def _network(context: ScorerContext, name: str) -> Network:
    lacking = lacking_packages(*TRANSFORMERS)
    if lacking is not None:
        raise NotReadyError(lacking)
    folder = load_folder(context, name, WHAT[name])
    network = _with_head(context, name, folder)
    masked = ("mask_token",) if name == "usl_h_mlm" else ()
    check_tokens(network.loaded, "cls_token", "sep_token", "pad_token", *masked)
    return network


def _with_head(context: ScorerContext, name: str, folder: Path) -> Network:
    tensors = read_tensors(folder)
    usual, kind = _USUAL_HEADS[name]
    if any(key.endswith(usual) for key in tensors):
        network = Network(load_model(context, name, WHAT[name], kind, may_lack=()))
        if name != "usl_h_mlm":
            check_labels(network.loaded, _CLASSES, WHAT[name])
        return network
    own = [f"{_OWN_HEADS[name]}.{part}" for part in ("weight", "bias")]
    if not tensors.keys() >= set(own):
        raise NotReadyError(
            f"{folder} has neither {usual} nor {' and '.join(own)}: it is not {WHAT[name]}"
        )
    loaded = load_model(context, name, WHAT[name], "AutoModel")
    weight, bias = (tensors[key].float().to(loaded.device) for key in own)
    return Network(loaded, (weight, bias, name != "usl_h_mlm"))


def _quantiles(context: ScorerContext, folder: Path) -> tuple[float, float]:
    options = context.options.get(NAME, {})
    file = folder / QUANTILES
    try:
        if "nll_low" in options or "nll_high" in options:
            low, high = float(options["nll_low"]), float(options["nll_high"])
        else:
            quantiles = json.loads(file.read_text("utf-8"))["nll"]
            low, high = float(quantiles["min"]), float(quantiles["max"])
    except FileNotFoundError as error:
        raise NotReadyError(
            f"{file} is not there: it holds the quantiles of the training replies' negative "
            "log-likelihood; or give --metric-option usl_h.nll_low=… and usl_h.nll_high=…"
        ) from error
    except (KeyError, TypeError, ValueError) as error:
        raise DialensError(
            f"usl_h wants two numbers, nll_low and nll_high, as options or as nll.min and nll.max "
            f"in {file}; seen: {dict(options)}"
        ) from error
    if not low < high:
        raise DialensError(f"usl_h's nll_low ({low:g}) is not below its nll_high ({high:g})")
    return low, high


def ready(context: ScorerContext) -> str | None:
    """What is missing; of weights on the hub that shows when they are fetched."""
    lacking = lacking_packages(*TRANSFORMERS)
    for name, what in WHAT.items():
        lacking = lacking or lacking_weights(context, name, what)
    if lacking is None and not context.weights["usl_h_mlm"].startswith(HUB):
        try:
            _quantiles(context, Path(context.weights["usl_h_mlm"]))
        except DialensError as error:
            return str(error)
    return lacking


def open_scorer(context: ScorerContext) -> UslHScorer:
    """Load the three models and read the options."""
    how = composition(context, NAME)
    networks = {name: _network(context, name) for name in WHAT}
    quantiles = _quantiles(context, networks["usl_h_mlm"].loaded.folder)
    return UslHScorer(networks, quantiles, how)


FAMILY = Family(
    name=NAME,
    label="USL-H",
    outputs=(
        Output(
            NAME,
            "USL-H from its three parts: understandable, sensible, specific",
            (0.0, 1.0),
            label="USL-H",
            headline=101,
        ),
        Output(
            "usl_h_vup",
            "Valid utterance: can the reply be understood?",
            (0.0, 1.0),
            label="USL-H vup",
        ),
        Output(
            "usl_h_nup",
            "Next utterance: does the reply follow the context?",
            (0.0, 1.0),
            label="USL-H nup",
        ),
        Output(
            "usl_h_mlm",
            "Negative log-likelihood of the reply, normalised: how specific it is",
            (0.0, 1.0),
            label="USL-H mlm",
        ),
    ),
    open=open_scorer,
    ready=ready,
    reads=("context",),
    weights=WHAT,
    options={
        "composition": "h (the paper's), hs (the authors' code) or a (plain mean)",
        "nll_low": f"negative log-likelihood that counts as 0, if not in {QUANTILES}",
        "nll_high": f"negative log-likelihood that counts as 1, if not in {QUANTILES}",
    },
    citation="Phy, Zhao and Aizawa 2020, Deconstruct to Reconstruct a Configurable Evaluation "
    "Metric for Open-Domain Dialogue Systems, COLING",
)

FAMILIES = (FAMILY, shipped_ranker.USL_H)


PLACE = 190
METRICS = FAMILIES
