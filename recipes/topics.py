"""Fit the topics that ship: LDA by stochastic collapsed variational Bayes on Reddit text.

    python -m recipes.topics --data INGESTED --names FILE --out src/dialens/models/data/topics

Documents are pieces of threads: comments of a thread pooled until about ``--chunk`` words. Words
are letters only (no links, names of users or subreddits, numbers) and must occur in at least
``--min-threads`` threads; a word that is also the name of a user (``--names``: a file with one name
a line, since ingest keeps none) must occur in ten times as many, so that nobody can be recognised.
Words in more than ``--max-share`` of the texts are left out: they tell no theme.

The updates are those of SCVB0 (Foulds et al. 2013), online over batches of documents, with a prior
over topics proportional to their size (Wallach et al. 2009). They start from clusters of documents;
plain online variational Bayes from a random start left most topics empty and was hardly better than
one topic. Held-out perplexity is that of document completion: half of the words of unseen comments
give the mixture, the other half are scored; passes end when it no longer falls. Needs scikit-learn
(extra `train`).
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path

import numpy as np
import polars as pl
from scipy import sparse
from sklearn.cluster import MiniBatchKMeans
from sklearn.decomposition import TruncatedSVD
from sklearn.preprocessing import normalize

from dialens.models import topics
from dialens.models.topics import count_matrix, ngrams
from dialens.text import VERSION, tokenise
from recipes.reddit import read_posts

WORD = r"^[a-z][a-z'\-]*$"
RESAMPLES = 2000
SMALLEST_WEIGHT = 0.01  # of P(topic | word); what is below is noise and would fill the table


def vocabulary(
    counts: pl.DataFrame, thread: np.ndarray, names: set[str], min_threads: int, most: float
) -> pl.Series:
    """Return the words that occur in enough threads, and in at most ``most`` texts."""
    plain = counts.filter(pl.col("term").str.contains(WORD))
    where = plain.with_columns(thread=pl.Series(thread).gather(plain["row"]))
    words = where.group_by("term").agg(n=pl.col("thread").n_unique(), texts=pl.len())
    words = words.filter(pl.col("texts") <= most)
    needed = (
        pl.when(pl.col("term").is_in(list(names))).then(10 * min_threads).otherwise(min_threads)
    )
    return words.filter(pl.col("n") >= needed)["term"].sort()


def pooled(counts: sparse.csr_array, thread: np.ndarray, size: int) -> sparse.csr_array:
    """Sum comments of a thread, in their order, to documents of about ``size`` words."""
    order = np.argsort(thread, kind="stable")
    length = np.asarray(counts.sum(axis=1)).ravel()
    document = np.zeros(len(order), dtype=np.int64)
    current, last, held = -1, -1, 0.0
    for place, row in enumerate(order):
        if thread[row] != last or held >= size:
            current, last, held = current + 1, thread[row], 0.0
        document[place] = current
        held += length[row]
    member = sparse.csr_array(
        (np.ones(len(order)), (document, order)), shape=(current + 1, len(order))
    )
    return sparse.csr_array(member @ counts)


def mixture_of(words: np.ndarray, times: np.ndarray, prior: np.ndarray, rounds: int) -> np.ndarray:
    """Return expected counts of topics in one document (plus prior), by CVB0 updates.

    ``words`` holds P(word | topic) of the document's words, words × topics.
    """
    mixture: np.ndarray = prior / prior.sum()
    for _ in range(rounds):
        mixture = prior + mixture * ((times / (words @ mixture)) @ words)
        mixture /= mixture.sum()
    return mixture


@dataclass(frozen=True)
class Perplexity:
    """Of held-out words, with an interval over texts: the words of one text belong together."""

    value: float
    low: float
    high: float
    n: int

    def as_metric(self) -> dict[str, float | int]:
        """Return it as a card writes it."""
        return asdict(self)


def perplexity(
    sizes: np.ndarray, held: sparse.csr_array, *, seed: int, alpha: float, eta: float
) -> Perplexity:
    """Return the perplexity per word of the second halves of documents.

    ``sizes`` are counts, words × topics; the prior over topics is proportional to their size.
    """
    rng = np.random.default_rng(seed)
    beta, prior = parameters(sizes, alpha, eta)
    first = held.copy()
    first.data = rng.binomial(held.data.astype(int), 0.5).astype(np.float32)
    second = sparse.csr_array(held - first)
    likelihood, words = np.zeros(held.shape[0]), np.zeros(held.shape[0])
    for row in range(held.shape[0]):
        seen = slice(first.indptr[row], first.indptr[row + 1])
        mixture = mixture_of(beta[first.indices[seen]], first.data[seen], prior, 30)
        wanted = slice(second.indptr[row], second.indptr[row + 1])
        likelihood[row] = second.data[wanted] @ np.log(beta[second.indices[wanted]] @ mixture)
        words[row] = second.data[wanted].sum()
    drawn = np.random.default_rng(seed).integers(0, len(words), (RESAMPLES, len(words)))
    values = np.exp(-likelihood[drawn].sum(axis=1) / words[drawn].sum(axis=1))
    low, high = np.quantile(values, [0.025, 0.975])
    value = np.exp(-likelihood.sum() / words.sum())
    return Perplexity(float(value), float(low), float(high), int(words.sum()))


def parameters(sizes: np.ndarray, alpha: float, eta: float) -> tuple[np.ndarray, np.ndarray]:
    """Return P(word | topic), words × topics, and the asymmetric prior over topics."""
    totals = sizes.sum(axis=0)
    beta = (sizes + eta) / (totals + eta * sizes.shape[0])
    prior = alpha * (totals + 1.0) / (totals + 1.0).sum()
    return beta.astype(np.float32), prior.astype(np.float32)


def one_pass(
    sizes: np.ndarray,
    documents: sparse.csr_array,
    *,
    alpha: float,
    eta: float,
    batch: int,
    rounds: int,
    step: Iterator[float],
) -> np.ndarray:
    """Return the counts after all documents were seen once, in batches."""
    n = documents.shape[0]
    for start in range(0, n, batch):
        part = documents[start : start + batch]
        beta, prior = parameters(sizes, alpha, eta)
        mixtures = np.empty((part.shape[0], len(prior)), dtype=np.float32)
        ratio = part.copy()
        for row in range(part.shape[0]):
            place = slice(part.indptr[row], part.indptr[row + 1])
            words, times = beta[part.indices[place]], part.data[place]
            mixtures[row] = mixture_of(words, times, prior, rounds)
            ratio.data[place] = times / (words @ mixtures[row])
        found = beta * np.asarray(ratio.T @ mixtures)
        rate = next(step)
        sizes = (1 - rate) * sizes + rate * (n / part.shape[0]) * found
    return sizes


def starting_point(documents: sparse.csr_array, n: int, seed: int) -> np.ndarray:
    """Return word counts of ``n`` clusters of documents, words × topics.

    From a random start most of several hundred topics stay empty; k-means over a latent semantic
    space gives every topic a theme to begin with.
    """
    frequency = np.bincount(documents.indices, minlength=documents.shape[1])
    weighted = documents.copy()
    idf = np.log(documents.shape[0] / np.maximum(frequency, 1))
    weighted.data = (1 + np.log(weighted.data)) * idf[weighted.indices]
    weighted = normalize(sparse.csr_matrix(weighted))
    space = TruncatedSVD(min(100, weighted.shape[1]), n_iter=3, random_state=seed)
    places = normalize(space.fit_transform(weighted))
    cluster = MiniBatchKMeans(n, batch_size=4096, n_init=1, random_state=seed).fit_predict(places)
    place = (cluster, np.arange(len(cluster)))
    member = sparse.csr_array((np.ones(len(cluster)), place), shape=(n, len(cluster)))
    sizes: np.ndarray = (member @ documents).toarray().T.astype(np.float32)
    return sizes


def main() -> None:
    """Fit and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="from engagement ingest")
    parser.add_argument("--names", type=Path, help="names of users, one a line")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--topics", type=int, default=500)
    parser.add_argument("--chunk", type=int, default=300)
    parser.add_argument("--min-threads", type=int, default=30)
    parser.add_argument("--max-share", type=float, default=0.03)
    parser.add_argument("--passes", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=15, help="updates of a document's mixture")
    parser.add_argument("--batch", type=int, default=2048)
    parser.add_argument("--alpha", type=float, default=10.0, help="sum of the topic prior")
    parser.add_argument("--eta", type=float, default=0.05, help="prior of a word in a topic")
    parser.add_argument("--held-out", type=float, default=0.03)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()

    comments = read_posts(options.data).filter(pl.col("text") != "")
    names = set(options.names.read_text("utf-8").lower().split()) if options.names else set()
    tokens = comments.select(tokenise("text"))["text"]
    thread = comments["thread"].rank("dense").to_numpy().astype(np.int64) - 1
    counted = ngrams(tokens, 1)
    words = vocabulary(counted, thread, names, options.min_threads, options.max_share * len(tokens))
    counts = count_matrix(counted, words, len(tokens))
    print(f"{len(tokens)} texts, {thread.max() + 1} threads, {len(words)} words", flush=True)

    rng = np.random.default_rng(options.seed)
    unseen = rng.random(thread.max() + 1) < options.held_out
    held = counts[np.flatnonzero(unseen[thread])]
    held = held[np.asarray(held.sum(axis=1)).ravel() >= 10][:1000]
    seen = np.flatnonzero(~unseen[thread])
    documents = pooled(counts[seen], thread[seen], options.chunk)
    documents = documents[np.asarray(documents.sum(axis=1)).ravel() >= 4]
    documents = documents[rng.permutation(documents.shape[0])].astype(np.float32)
    print(f"{documents.shape[0]} documents, {int(documents.sum())} words", flush=True)

    priors = {"alpha": options.alpha, "eta": options.eta}
    share = np.asarray(documents.sum(axis=0)).reshape(-1, 1)
    one = perplexity(share, held, seed=options.seed, **priors)
    sizes = starting_point(documents, options.topics, options.seed)
    start = perplexity(sizes, held, seed=options.seed, **priors)
    print(
        f"held-out perplexity: one topic {one.value:.1f}, start {start.value:.1f} ({one.n} words)",
        flush=True,
    )
    step = ((64 + number) ** -0.6 for number in count())
    fitted = start
    for number in range(options.passes):
        after = one_pass(
            sizes, documents, batch=options.batch, rounds=options.rounds, step=step, **priors
        )
        found = perplexity(after, held, seed=options.seed, **priors)
        print(f"pass {number + 1}: held-out perplexity {found.value:.1f}", flush=True)
        if found.value > fitted.value:
            break
        sizes, fitted = after, found

    given_word = sizes / np.maximum(sizes.sum(axis=1, keepdims=True), 1e-9)
    given_word[given_word < SMALLEST_WEIGHT] = 0.0
    kept = np.flatnonzero(given_word.sum(axis=1) > 0)
    row, column = np.nonzero(given_word[kept])
    entries = pl.DataFrame(
        {
            "term": words.gather(kept).gather(row),
            "category": pl.Series(column).cast(pl.String),
            "weight": given_word[kept][row, column],
        }
    )
    table = topics.from_entries("reddit_topics", entries, licence="Apache-2.0")
    card = {
        "name": "reddit_topics",
        "task": "topics",
        "labels": [f"{len(table.topics)} topics, numbered, without names"],
        "data": [
            {
                "name": "Reddit comments and submissions, 2005–2025, mostly of 2015 "
                "(see docs/models.md)",
                "licence": "text of its authors; only word statistics are shipped",
                "n": len(tokens),
            }
        ],
        "command": "python -m recipes.topics --data DATA --out OUT "
        f"--topics {options.topics} --chunk {options.chunk} --min-threads {options.min_threads} "
        f"--max-share {options.max_share} --passes {options.passes} --rounds {options.rounds} "
        f"--batch {options.batch} --alpha {options.alpha} --eta {options.eta} "
        f"--held-out {options.held_out} --seed {options.seed}",
        "seed": options.seed,
        "tokeniser": VERSION,
        "metrics": {
            "held_out_perplexity": fitted.as_metric(),
            "held_out_perplexity_unigram": one.as_metric(),
        },
        "words": len(table.terms),
        "intended_use": "Topic loadings of conversational English, as features of trait models.",
        "limits": "Themes of a few large subreddits (news, films, games, television, books) in "
        "2015; English only; offensive words and topics included because people use them; topics "
        "have no names and are not opinions of a writer. Number of topics (among 200, 500 "
        "and 1,000) and vocabulary (with and without the most frequent words) were chosen by "
        "held-out likelihood relative to one topic, and by use in the trait models. Words occur in "
        f"at least {options.min_threads} threads and in at most {options.max_share:.0%} of the "
        "texts.",
        "research_grade": False,
    }
    topics.save(table, options.out, card=card)
    again = topics.load(options.out)
    size = (options.out / topics.TABLE_FILE).stat().st_size
    print(f"{len(again.terms)} words, {again.weights.nnz} weights, {size / 1e6:.2f} MB")
    frequency = np.asarray(documents.sum(axis=0)).ravel()[kept]
    order = words.gather(kept)
    lookup = dict(zip(order.to_list(), frequency.tolist(), strict=True))
    prior = np.array([lookup[term] for term in again.terms])
    for topic in range(0, len(again.topics), max(1, len(again.topics) // 20)):
        print(topic, " ".join(again.top_words(topic, 12, prior=prior**0.5)))


if __name__ == "__main__":
    main()
