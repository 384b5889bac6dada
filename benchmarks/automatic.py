"""All reference-based metrics together, against running each reference package by itself.

    python benchmarks/automatic.py [--pairs 10000] [--encoder FOLDER] [--quick]

Pairs are drawn from a corpus of short made-up replies (or from `--texts FILE`, one text a line).
Ours is the engine as `dialens score` runs it, without its cache and report; theirs are sacrebleu
(BLEU-1 … BLEU-4, chrF), rouge-score, nltk's METEOR and bert-score, one after the other, each called
as its documentation has it. `--encoder` is a folder with a BERT (all-MiniLM-L6-v2, for one); a
random one of that size is made where none is given. Prints seconds, ratios and the largest
difference of scores; asserts nothing.
"""

import argparse
import os
import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from dialens.corpus import Corpus, Dialogue, Reference, Turn
from dialens.metrics import Resources, score
from dialens.metrics.automatic.family import Workshop
from dialens.metrics.automatic.scorers import ScorerSet

METRICS = ["bleu", "chrf", "rouge", "meteor", "bert_score"]
LAYER = 5
COMMON = (
    "i you we they the a an my your so really very just not do don't can will would have had like "
    "love hate think know want need see go went come work play watch read eat cook sleep live dog "
    "cat music movie book game food coffee tea pizza school job weekend family friend mother "
    "brother city house car garden beach summer winter morning night today tomorrow always never "
    "sometimes maybe also too but and or because when what how why where great nice fun cool sad "
    "sorry happy tired busy funny interesting favourite new old big small good bad better best"
)
WORDS = COMMON.split(" ")


def made_up(count: int, rng: random.Random) -> list[str]:
    """Replies of 3 to 25 words; frequent words are more frequent."""
    weights = [1 / (rank + 3) for rank in range(len(WORDS))]
    texts = []
    for _ in range(count):
        words = rng.choices(WORDS, weights, k=rng.randint(3, 25))
        texts.append(" ".join(words).capitalize() + rng.choice(".!?"))
    return texts


def drawn(texts: list[str], pairs: int, rng: random.Random) -> list[tuple[str, str]]:
    """Replies with references that share some of their words."""
    found = []
    for _ in range(pairs):
        reference = rng.choice(texts)
        if rng.random() < 0.5:
            found.append((rng.choice(texts), reference))
            continue
        words = reference.split()
        other = rng.choice(texts).split()
        cut = rng.randint(1, len(words))
        found.append((" ".join(words[:cut] + other[: rng.randint(1, len(other))]), reference))
    return found


def random_encoder(folder: Path) -> Path:
    """BERT of the size of MiniLM-L6 over the words above, with random weights."""
    import torch
    import transformers

    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS, *".!?'", "don", "t"]
    vocabulary = {piece: number for number, piece in enumerate(dict.fromkeys(pieces))}
    transformers.BertTokenizer(vocab=vocabulary, model_max_length=512).save_pretrained(folder)
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=30_522,
        hidden_size=384,
        num_hidden_layers=6,
        num_attention_heads=12,
        intermediate_size=1536,
    )
    transformers.BertModel(config).save_pretrained(folder)
    return folder


def ours(pairs: list[tuple[str, str]], encoder: Path) -> dict[str, np.ndarray]:
    workshop = Workshop(
        weights={"bert_score": str(encoder)},
        options={"bert_score": {"layer": str(LAYER)}, "meteor": {"synonyms": "no"}},
        device="cpu",
    )
    corpus = Corpus.of(
        Dialogue("s", "b", f"{n:07}", [Turn("B", "agent", text)], references=[Reference(0, other)])
        for n, (text, other) in enumerate(pairs)
    )
    scores = score(corpus, metrics=METRICS, resources=Resources(automatic=ScorerSet(workshop)))
    wide = scores.wide("turn").sort("dialog")
    return {name: wide[name].to_numpy() for name in wide.columns[4:]}


def theirs(
    pairs: list[tuple[str, str]], encoder: Path
) -> dict[str, Callable[[], dict[str, np.ndarray]]]:
    """One job a package, with what it gives under our names."""

    def bleu() -> dict[str, np.ndarray]:
        from sacrebleu.metrics.bleu import BLEU

        found = {}
        for order in (1, 2, 3, 4):
            metric = BLEU(max_ngram_order=order, effective_order=True)
            scores = [metric.sentence_score(text, [other]).score for text, other in pairs]
            found[f"bleu_{order}"] = np.array(scores)
        return found

    def chrf() -> dict[str, np.ndarray]:
        from sacrebleu.metrics.chrf import CHRF

        metric = CHRF()
        return {"chrf": np.array([metric.sentence_score(a, [b]).score for a, b in pairs])}

    def rouge() -> dict[str, np.ndarray]:
        from rouge_score.rouge_scorer import RougeScorer

        names = {"rouge1": "rouge_1", "rouge2": "rouge_2", "rougeL": "rouge_l"}
        scorer = RougeScorer(list(names))
        rows = [scorer.score(other, text) for text, other in pairs]
        return {
            ours: np.array([row[name].fmeasure for row in rows]) for name, ours in names.items()
        }

    def meteor() -> dict[str, np.ndarray]:
        from nltk.tokenize import word_tokenize
        from nltk.translate.meteor_score import meteor_score

        class NoSynonyms:
            def synsets(self, word: str) -> list[object]:
                return []

        cut = lambda text: word_tokenize(text, preserve_line=True)  # noqa: E731
        return {
            "meteor": np.array(
                [meteor_score([cut(b)], cut(a), wordnet=NoSynonyms()) for a, b in pairs]
            )
        }

    def bert_score() -> dict[str, np.ndarray]:
        import bert_score

        made = bert_score.score(
            [text for text, _ in pairs],
            [other for _, other in pairs],
            model_type=str(encoder),
            num_layers=LAYER,
            device="cpu",
        )
        names = ("bert_score_precision", "bert_score_recall", "bert_score_f1")
        return {name: column.double().numpy() for name, column in zip(names, made, strict=True)}

    return {
        "sacrebleu, BLEU-1 … 4": bleu,
        "sacrebleu, chrF": chrf,
        "rouge-score": rouge,
        "nltk, METEOR": meteor,
        "bert-score": bert_score,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=10_000)
    parser.add_argument("--encoder", type=Path, help="folder with a BERT and its tokenizer")
    parser.add_argument("--texts", type=Path, help="file with one text a line")
    parser.add_argument("--quick", action="store_true", help="300 pairs")
    given = parser.parse_args()
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    rng = random.Random(0)
    count = 300 if given.quick else given.pairs
    texts = given.texts.read_text().splitlines() if given.texts else made_up(2 * count, rng)
    pairs = drawn([text for text in texts if text.strip()], count, rng)
    with tempfile.TemporaryDirectory() as scratch:
        encoder = given.encoder or random_encoder(Path(scratch) / "encoder")
        ours(pairs[:50], encoder)  # imports, and pages of the file system
        began = time.perf_counter()
        mine = ours(pairs, encoder)
        own = time.perf_counter() - began
        total, largest = 0.0, {}
        print(f"{count:,} pairs, {encoder.name}, {os.cpu_count()} cores")
        for name, job in theirs(pairs, encoder).items():
            began = time.perf_counter()
            found = job()
            took = time.perf_counter() - began
            total += took
            print(f"  {name:24} {took:7.2f} s")
            for metric, values in found.items():
                largest[metric] = float(np.abs(values - mine[metric]).max())
        print(f"  {'all of them':24} {total:7.2f} s")
        print(f"  {'dialens':24} {own:7.2f} s   {total / own:.2f} × faster")
        print("largest difference of a score:")
        for metric, difference in largest.items():
            print(f"  {metric:24} {difference:.1e}")


if __name__ == "__main__":
    main()
