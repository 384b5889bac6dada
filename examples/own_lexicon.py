"""Score emotions with a lexicon of your own instead of the bundled one.

    python examples/own_lexicon.py

The file may also be a LIWC dictionary, one of NRC's lexicons or a table of DLATK's. What these
words do not cover stays missing and is counted.
"""

import tempfile
from pathlib import Path

import dialens
from dialens.corpus import demo_path
from dialens.text import read_emotion_lexicon

WORDS = """\
anger: angry furious annoyed unfair rude; anticipation: hope hoping tomorrow wonder;
disgust: gross disgusting ugh evil; fear: scared scary frightened panic;
joy: happy laugh laughing love smiling; sadness: sorry sad crying alone;
surprise: wow surprise wait believe; trust: brave proud here together"""


def main() -> None:
    groups = (group.split(":") for group in WORDS.split(";"))
    rows = [f"{word}\t{name.strip()}\t1" for name, words in groups for word in words.split()]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "mood.tsv"
        file.write_text("\n".join(["word\tcategory\tweight", *rows]) + "\n", encoding="utf-8")
        resources = dialens.Resources(emotion=read_emotion_lexicon(file))
    corpus = dialens.read(demo_path())
    scores = dialens.score(corpus, metrics=["emotional_entropy"], resources=resources)
    print(f"{len(rows)} words, {scores.signatures['emotional_entropy']}")
    for row in scores.table.filter(level="agent").collect().iter_rows(named=True):
        counted = f"{row['n']} turns with such words, {row['n_missing']} without"
        print(f"{row['agent']}: emotional entropy {row['value']:.2f} ({counted})")


if __name__ == "__main__":
    main()
