"""BERTScore: how well the tokens of a reply and of a reference match by meaning.

Zhang et al. 2020. The arithmetic is our own, checked against the authors' package: each distinct
sentence is encoded once, layers above the chosen one are not run, and padding never takes part in
a maximum (in the package a token whose similarities are all negative scores 0 beside longer
sentences), so that a score does not depend on the batch.
"""

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dialens.base import DialensError, sha256_file
from dialens.metrics._family import Family, Output, ScorerContext, Unit
from dialens.metrics._pace import paced
from dialens.metrics._state import Floats
from dialens.metrics.families._token_encoder import SideRows, TokenEncoder, one_core_each
from dialens.metrics.families._weights import (
    TRANSFORMERS,
    lacking_packages,
    lacking_weights,
    load_model,
)
from dialens.models import length_sorted

if TYPE_CHECKING:
    import torch

NAME = "bert_score"
WHAT = "an encoder such as roberta-large"

LAYERS: Mapping[str, int] = {
    "albert-base-v2": 9,
    "bert-base-multilingual-cased": 9,
    "bert-base-uncased": 9,
    "bert-large-uncased": 18,
    "deberta-base": 9,
    "deberta-base-mnli": 9,
    "deberta-large": 16,
    "deberta-large-mnli": 18,
    "deberta-xlarge-mnli": 40,
    "distilbert-base-uncased": 5,
    "distilroberta-base": 5,
    "electra-base-discriminator": 9,
    "mpnet-base": 8,
    "roberta-base": 10,
    "roberta-large": 17,
    "roberta-large-mnli": 19,
    "xlm-roberta-base": 9,
    "xlm-roberta-large": 17,
}
"""The layers that the authors found to agree best with judges of translations, by model."""

_PAIRS = 2048  # in memory as tokens at a time
_SPACED = ("RobertaTokenizer", "RobertaTokenizerFast", "GPT2Tokenizer", "GPT2TokenizerFast")


@dataclass(frozen=True)
class Settings:
    """What the user may set.

    Attributes:
        layer: Counted from the embeddings, which are 0; None for the model's own.
        idf: Whether rare tokens weigh more.
        baseline: What unrelated sentences get, by layer, in the authors' format; None for raw
            similarities.
        prefix_space: Whether byte-level tokenizers see a space before the text, as published.
    """

    layer: int | None = None
    idf: bool = False
    baseline: Path | None = None
    prefix_space: bool = True

    @classmethod
    def of(cls, options: Mapping[str, str]) -> "Settings":
        """Read what was given as text.

        Raises:
            DialensError: A value cannot be read.

        Examples:
            >>> Settings.of({"layer": "9", "idf": "yes"})
            Settings(layer=9, idf=True, baseline=None, prefix_space=True)
        """
        layer = options.get("layer")
        if layer is not None and not layer.isdecimal():
            raise DialensError(f"--metric-option bert_score.layer={layer}: give 0, 1, 2 …")
        return cls(
            None if layer is None else int(layer),
            _yes(options, "idf", otherwise=False),
            Path(options["baseline"]) if "baseline" in options else None,
            _yes(options, "prefix_space", otherwise=True),
        )


def _yes(options: Mapping[str, str], name: str, *, otherwise: bool) -> bool:
    value = options.get(name, "yes" if otherwise else "no").lower()
    if value not in ("yes", "no", "true", "false"):
        raise DialensError(f"--metric-option bert_score.{name}={value}: give yes or no")
    return value in ("yes", "true")


def read_baseline(file: Path, layer: int) -> Floats:
    """Precision, recall and F1 of unrelated sentences at a layer.

    Args:
        file: With the columns LAYER, P, R and F, separated by commas or tabs.
        layer: Its row.

    Raises:
        DialensError: The file, the row or a number in it is missing.
    """
    if not file.is_file():
        raise DialensError(f"{file}, the baseline of bert_score, is not there")
    for number, line in enumerate(file.read_text("utf-8").splitlines()[1:], start=2):
        cells = line.replace("\t", ",").split(",")
        try:
            if line.strip() and int(cells[0]) == layer:
                return np.array([float(cell) for cell in cells[1:4]]).reshape(3)
        except ValueError as error:
            raise DialensError(
                f"{file}, line {number}: wants LAYER,P,R,F in numbers; seen: {line!r}"
            ) from error
    raise DialensError(f"{file} has no row for layer {layer}: choose another bert_score.layer")


@dataclass(frozen=True, eq=False)
class _Sentence:
    """Unit vectors of a sentence's tokens, and what each weighs; weights sum to 1."""

    vectors: "torch.Tensor"
    weights: "torch.Tensor"


class BertScorer:
    """Precision, recall and F1, one column each; of several references the best by each."""

    def __init__(self, encoder: TokenEncoder, settings: Settings, layer: int) -> None:
        self._encoder = encoder
        self._idf: dict[int, float] | None = None
        self._unseen = 0.0
        self._baseline = np.zeros(3)
        self._wants_idf = settings.idf
        self.signature = f"{encoder.signature},layer={layer}"
        if encoder.prefix:
            self.signature += ",prefix_space"
        if settings.baseline is not None:
            self._baseline = read_baseline(settings.baseline, layer)
            self.signature += f",baseline={sha256_file(settings.baseline)[:12]}"

    def prepare(self, references: Iterable[str]) -> None:
        """Count in how many references each token occurs, if rare ones are to weigh more."""
        if not self._wants_idf or self._idf is not None:
            return
        texts = Counter(iter(references))
        seen: Counter[int] = Counter()
        for ids, times in zip(self._encoder.ids(list(texts)), texts.values(), strict=True):
            seen.update(dict.fromkeys(ids, times))
        total = texts.total()
        self._idf = {token: math.log((total + 1) / (n + 1)) for token, n in seen.items()}
        self._unseen = math.log(total + 1)
        marks = hashlib.sha256("\0".join(sorted(texts.elements())).encode())
        self.signature += f",idf={marks.hexdigest()[:12]}"

    def score(
        self, units: Sequence[Unit], advance: Callable[[int], None] = lambda _: None
    ) -> Floats:
        """Precision, recall, F1 of each unit; NaN for one without a reference, 0 for an empty one.

        Raises:
            DialensError: Inverse document frequencies were asked for, and no reference was shown.
        """
        if self._wants_idf and self._idf is None:
            raise DialensError("bert_score.idf=yes weighs by all references: call prepare() first")
        spoken = [unit for unit in units if unit.response.strip()]
        pairs = [(unit.response, reference) for unit in spoken for reference in unit.references]
        distinct = {pair: place for place, pair in enumerate(dict.fromkeys(pairs))}
        scored = np.empty((len(distinct), 3))
        tell = paced(advance, len(units), len(distinct))
        for start, values in self._scored(list(distinct)):
            scored[start : start + len(values)] = values
            tell(len(values))
        result = np.full((len(units), 3), np.nan)
        for row, unit in enumerate(units):
            if not unit.references:
                continue
            if not unit.response.strip():  # before a baseline is taken off, as in the package
                result[row] = 0.0
                continue
            places = [distinct[unit.response, reference] for reference in unit.references]
            result[row] = np.fmax.reduce(scored[places])
        rescaled: Floats = (result - self._baseline) / (1 - self._baseline)
        return rescaled

    def _scored(self, pairs: list[tuple[str, str]]) -> Iterator[tuple[int, Floats]]:
        """Scores of some pairs after others; a sentence is forgotten after its last pair."""
        last = {text: place for place, pair in enumerate(pairs) for text in pair}
        sentences: dict[str, _Sentence] = {}
        for start in range(0, len(pairs), _PAIRS):
            window = pairs[start : start + _PAIRS]
            fresh = [
                text
                for text in dict.fromkeys(t for p in window for t in p)
                if text not in sentences
            ]
            sentences.update(zip(fresh, self._sentences(fresh), strict=True))
            matched = [(sentences[a], sentences[b]) for a, b in window]
            yield start, _matched(matched, self._encoder.threads)
            for text in [text for text in sentences if last[text] < start + _PAIRS]:
                del sentences[text]

    def _sentences(self, texts: list[str]) -> list[_Sentence]:
        import torch

        sentences = []
        for ids, vectors in self._encoder.encode(texts):
            weights = torch.tensor([self._weight(token) for token in ids], dtype=torch.float32)
            weights = (weights / weights.sum()).to(vectors.device)
            sentences.append(_Sentence(torch.nn.functional.normalize(vectors, dim=-1), weights))
        return sentences

    def _weight(self, token: int) -> float:
        if self._idf is not None:
            return self._idf.get(token, self._unseen)
        return 0.0 if token in self._encoder.ends else 1.0


def _matched(pairs: list[tuple[_Sentence, _Sentence]], threads: int = 1) -> Floats:
    """Precision, recall and F1 of (reply, reference) pairs: each token's best match, weighed."""
    result = np.empty((len(pairs), 3))
    lengths = [max(len(first.weights), len(other.weights)) for first, other in pairs]
    batches = list(length_sorted(lengths, parts=threads))
    with one_core_each(threads) as pool:
        batch_values = pool.map(
            lambda rows: _matched_together([pairs[row] for row in rows]), batches
        )
        for rows, values in zip(batches, batch_values, strict=True):
            result[rows] = values
    return np.minimum(result, 1.0)  # unit vectors are so to seven digits


def _matched_together(pairs: list[tuple[_Sentence, _Sentence]]) -> Floats:
    import torch

    replies, references = zip(*pairs, strict=True)
    vectors = [
        _joined([sentence.vectors for sentence in side], 0) for side in (replies, references)
    ]
    weights = [
        _joined([sentence.weights for sentence in side], 0) for side in (replies, references)
    ]
    padding = [
        _joined([sentence.weights.new_zeros(len(sentence.weights)) for sentence in side], 1) > 0
        for side in (replies, references)
    ]
    alike = torch.bmm(vectors[0], vectors[1].transpose(1, 2))
    best = alike.masked_fill(padding[1][:, None, :], -torch.inf).amax(dim=2)
    nearest = alike.masked_fill(padding[0][:, :, None], -torch.inf).amax(dim=1)
    precision = (best * weights[0]).sum(dim=1)
    recall = (nearest * weights[1]).sum(dim=1)
    both = 2 * precision * recall / (precision + recall)
    # Means of what is not positive have no harmony: 2PR/(P+R) would be anything.
    both = both.masked_fill((precision <= 0) | (recall <= 0), torch.nan)
    scores: Floats = torch.stack([precision, recall, both], dim=1).cpu().double().numpy()
    return scores


def _joined(parts: "list[torch.Tensor]", padding: float) -> "torch.Tensor":
    from torch.nn.utils.rnn import pad_sequence

    return pad_sequence(parts, batch_first=True, padding_value=padding)


def ready(context: ScorerContext) -> str | None:
    """What is missing."""
    return lacking_packages(*TRANSFORMERS) or lacking_weights(context, NAME, WHAT)


def open_scorer(context: ScorerContext) -> BertScorer:
    """Load the encoder and read the options."""
    settings = Settings.of(context.options.get(NAME, {}))
    loaded = load_model(context, NAME, WHAT)
    layers = int(loaded.model.config.num_hidden_layers)
    layer = settings.layer
    if layer is None:
        name = loaded.signature.rpartition("@")[0].rpartition("/")[2]
        layer = min(LAYERS.get(name, layers), layers)
    if layer > layers:
        raise DialensError(
            f"--metric-option bert_score.layer={layer}: {loaded.folder} has layers 0 to {layers}"
        )
    spaced = settings.prefix_space and type(loaded.tokenizer).__name__ in _SPACED
    encoder = TokenEncoder(
        loaded,
        layer=layer,
        prefix=" " if spaced else "",
        threads=context.threads,
        side=SideRows.of(context, loaded),
    )
    return BertScorer(encoder, settings, layer)


FAMILY = Family(
    name=NAME,
    label="BERTScore",
    outputs=(
        Output(
            "bert_score_precision",
            "How well the reply's tokens are matched in the reference (best of several)",
            (None, 1.0),
            label="BERTScore precision",
        ),
        Output(
            "bert_score_recall",
            "How well the reference's tokens are matched in the reply (best of several)",
            (None, 1.0),
            label="BERTScore recall",
        ),
        Output(
            "bert_score_f1",
            "Harmonic mean of both (best of several references)",
            (None, 1.0),
            label="BERTScore F1",
            headline=102,
        ),
    ),
    scores_silence=True,
    version=2,  # 1 left out replies that say nothing
    open=open_scorer,
    ready=ready,
    needs=("reference",),
    reads=("reference",),
    weights={NAME: WHAT},
    options={
        "layer": "whose token vectors are compared; else the authors' for models they tuned "
        "(known by the folder's name), and the last for others",
        "idf": "yes: tokens weigh by their inverse document frequency over all references",
        "baseline": "a file LAYER,P,R,F of unrelated sentences' scores: rescales by it",
        "prefix_space": "no: RoBERTa and GPT-2 read the text without a space before it",
    },
    citation="Zhang et al. 2020, BERTScore: Evaluating Text Generation with BERT, ICLR",
)


PLACE = 130
METRICS = (FAMILY,)
