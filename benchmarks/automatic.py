"""All reference-based metrics together, against running each reference package by itself.

    python benchmarks/automatic.py [--pairs 10000] [--encoder FOLDER] [--quick]

Pairs are drawn from a corpus of short made-up replies (or from `--texts FILE`, one text a line),
of agents with up to 5,000 replies each. Ours is the engine as `dialens score` runs it, without a
cache on disk and report. Theirs are sacrebleu (BLEU-1 … BLEU-4, chrF), rouge-score, nltk's METEOR,
bert-score and mauve-text, one after the other, each called as its documentation has it, with its
defaults but for one: mauve-text reads texts in batches (`--mauve-batch`, 64; its default is one by
one, and it advises larger ones). BERTScore (layer 5) and MAUVE (last token of the last layer, as
the package takes it) read the same encoder; we run it once for both. `--encoder` is a folder with a
BERT (all-MiniLM-L6-v2, for one); a random one of that size is made where none is given.

Prints seconds, ratios and the largest difference of scores; asserts nothing. MAUVE clusters from a
random beginning, so that the package does not agree with itself over seeds: it is compared with the
package's spread over seeds, and exactly for the histograms that the package made.
"""

import argparse
import os
import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np

from dialens.corpus import Corpus, Dialogue, Reference, Turn
from dialens.metrics import Resources, ScorerContext, ScorerSet, score
from dialens.metrics._catalogue import FAMILIES
from dialens.metrics._family_cards import MOST_POOLED
from dialens.metrics.families._frontier import mauve_of

METRICS = ["bleu", "chrf", "rouge", "meteor", "bert_score", "mauve"]
Pairs = list[tuple[str, str]]
LAYER = 5
T = TypeVar("T")
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


def ours(pairs: Pairs, encoder: Path) -> tuple[dict[str, np.ndarray], ScorerSet]:
    scorers = ScorerSet(
        ScorerContext(
            weights={"bert_score": str(encoder), "mauve": str(encoder)},
            options={
                "bert_score": {"layer": str(LAYER)},
                "meteor": {"synonyms": "no"},
                "mauve": {"features": "last", "minimum": "20"},
            },
            device="cpu",
        )
    )
    corpus = Corpus.of(
        Dialogue(
            agent_of(n),
            agent_of(n),
            f"{n:07}",
            [Turn("B", "agent", text)],
            references=[Reference(0, other)],
        )
        for n, (text, other) in enumerate(pairs)
    )
    scores = score(corpus, metrics=METRICS, resources=Resources(scorers=scorers))
    wide = scores.wide("turn").sort("dialog")
    found = {name: wide[name].to_numpy() for name in wide.columns[4:]}
    if "mauve" in METRICS:
        found["mauve"] = scores.wide("agent").sort("agent")["mauve"].to_numpy()
    return found, scorers


def agent_of(pair: int) -> str:
    return f"agent{pair // MOST_POOLED:03}"


def theirs(
    pairs: Pairs, encoder: Path, mauve_batch: int
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

    def mauve() -> dict[str, np.ndarray]:
        from mauve import compute_mauve

        found = []
        for start in range(0, len(pairs), MOST_POOLED):
            replies, references = zip(*pairs[start : start + MOST_POOLED], strict=True)
            out = compute_mauve(
                p_text=list(replies),
                q_text=list(references),
                featurize_model_name=str(encoder),
                batch_size=mauve_batch,
            )
            found.append(out.mauve)
        return {"mauve": np.array(found)}

    return {
        "sacrebleu, BLEU-1 … 4": bleu,
        "sacrebleu, chrF": chrf,
        "rouge-score": rouge,
        "nltk, METEOR": meteor,
        "bert-score": bert_score,
        **({"mauve-text": mauve} if "mauve" in METRICS else {}),
    }


def mauve_in_detail(pairs: Pairs, scorers: ScorerSet, seeds: int) -> None:
    """MAUVE of the first agent over seeds, from the same features."""
    from mauve import compute_mauve

    (family,) = [one for one in FAMILIES if one.name == "mauve"]
    scorer = scorers.pool_scorer(family)
    replies, references = zip(*pairs[:MOST_POOLED], strict=True)
    p, q = scorer.embed(replies), scorer.embed(references)
    outs = [compute_mauve(p_features=p, q_features=q, seed=seed) for seed in range(seeds)]
    made = [one.mauve for one in outs]
    same = max(abs(mauve_of(one.p_hist, one.q_hist) - one.mauve) for one in outs)
    print(f"  mauve, same histograms   {same:.1e}")
    print(f"  mauve-text over {seeds} seeds, from our features: {min(made):.4f} to {max(made):.4f}")


def timed(job: Callable[[], T]) -> tuple[T, float, float]:
    """What a job gives, and the seconds and processor seconds it took."""
    began, spent = time.perf_counter(), time.process_time()
    made = job()
    return made, time.perf_counter() - began, time.process_time() - spent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=10_000)
    parser.add_argument("--encoder", type=Path, help="folder with a BERT and its tokenizer")
    parser.add_argument("--texts", type=Path, help="file with one text a line")
    parser.add_argument("--mauve-batch", type=int, default=64, help="of mauve-text (64)")
    parser.add_argument("--no-mauve", action="store_true", help="leave it out on both sides")
    parser.add_argument("--seeds", type=int, default=3, help="of mauve-text, compared (3)")
    parser.add_argument("--quick", action="store_true", help="300 pairs")
    given = parser.parse_args()
    if given.no_mauve:
        METRICS.remove("mauve")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    os.environ.setdefault("DISABLE_TQDM", "1")
    rng = random.Random(0)
    count = 300 if given.quick else given.pairs
    texts = given.texts.read_text().splitlines() if given.texts else made_up(2 * count, rng)
    pairs = drawn([text for text in texts if text.strip()], count, rng)
    with tempfile.TemporaryDirectory() as scratch:
        encoder = Path(scratch) / "bert"  # mauve-text takes a folder for what its name says
        if given.encoder:
            encoder.symlink_to(given.encoder.resolve())
        else:
            random_encoder(encoder)
        ours(pairs[:50], encoder)  # imports, and pages of the file system
        for job in theirs(pairs[:50], encoder, given.mauve_batch).values():
            job()
        (mine, scorers), own, own_spent = timed(lambda: ours(pairs, encoder))
        total = total_spent = 0.0
        largest = {}
        print(f"{count:,} pairs, {given.encoder or 'a random encoder'}, {os.cpu_count()} cores")
        print(f"  {'':24} {'wall':>9} {'CPU':>9}")
        for name, job in theirs(pairs, encoder, given.mauve_batch).items():
            found, took, spent = timed(job)
            total, total_spent = total + took, total_spent + spent
            print(f"  {name:24} {took:7.2f} s {spent:7.2f} s", flush=True)
            for metric, values in found.items():
                largest[metric] = float(np.abs(values - mine[metric]).max())
        print(f"  {'all of them':24} {total:7.2f} s {total_spent:7.2f} s")
        print(f"  {'dialens':24} {own:7.2f} s {own_spent:7.2f} s")
        print(f"  {'times faster':24} {total / own:7.2f}   {total_spent / own_spent:7.2f}")
        print("largest difference of a score:")
        for metric, difference in largest.items():
            print(f"  {metric:24} {difference:.1e}")
        if "mauve" in METRICS:
            print(f"  mauve by dialens, agent by agent: {mine['mauve'].round(4).tolist()}")
            mauve_in_detail(pairs, scorers, given.seeds)


if __name__ == "__main__":
    main()
