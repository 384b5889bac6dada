"""Every reader: what it reads, and how it says what it cannot read."""

from __future__ import annotations

import gzip
import sqlite3
from pathlib import Path

import polars as pl
import pytest

from dialens.base import DialensError
from dialens.text import PLUTCHIK, Lexicon, as_emotion_lexicon, read_emotion_lexicon, read_lexicon

# One small lexicon (joy: glad 1, nan 1; fear: nan 1, null 1), as each format writes it.
UNWEIGHTED = {
    "liwc.dic": "%\n1\tjoy\n2\tfear\n%\nglad\t1\nnan\t1\t2\nnull\t2\n",
    "liwc_spaces.dic": "%\n 1 joy (Joyful Words)\n 2 fear\n%\nglad 1\nnan 1 2\nnull 2\n",
    "liwc.dicx": "DicTerm,joy,fear\nglad,X,\nnan,X,X\nnull,,X\n",
    "emolex.txt": "glad\tjoy\t1\nglad\tfear\t0\nnan\tjoy\t1\nnan\tfear\t1\nnull\tfear\t1\n",
    "header.tsv": "word\tcategory\nglad\tjoy\nnan\tjoy\nnan\tfear\nnull\tfear\n",
    "header.csv": 'category,term\njoy,"glad"\njoy,nan\nfear,nan\nfear,null\n',
    "bare.csv": "glad,joy\nnan,joy\nnan,fear\nnull,fear\n",
    "windows.tsv": "\ufeffterm\tcategory\r\nglad\tjoy\r\nnan\tjoy\r\nnan\tfear\r\nnull\tfear\r\n",
    "wide.tsv": "word\tjoy\tfear\nglad\t1\t0\nnan\t1\t1\nnull\t0\t1\n",
}
WEIGHTED = {
    "hashtag.txt": "joy\tglad\t0.5\njoy\tnan\t2\nfear\tnan\t1e-1\nfear\tnull\t1\n",
    "intensity.txt": "glad\tjoy\t0.5\nnan\tjoy\t2\nnan\tfear\t.1\nnull\tfear\t1\n",
    "scores.txt": "term\tscore\tAffectDimension\nglad\t0.5\tjoy\nnan\t2\tjoy\nnan\t0.1\tfear\n"
    "null\t1\tfear\n",
    "header.tsv": "word\tcategory\tweight\nglad\tjoy\t0.5\nnan\tjoy\t2\nnan\tfear\t0.1\n"
    "null\tfear\t1\n",
    "header.csv": "weight,term,category\n0.5,glad,joy\n2,nan,joy\n0.1,nan,fear\n1,null,fear\n",
}


def write(folder: Path, name: str, text: str) -> Path:
    file = folder / name
    file.write_bytes(text.encode())
    return file


def told(lexicon: Lexicon) -> set[tuple[str, str, float]]:
    return set(lexicon.entries.select("term", "category", "weight").iter_rows())


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", UNWEIGHTED)
def test_unweighted_formats_say_the_same(name: str, packed: bool, tmp_path: Path) -> None:
    file = write(tmp_path, name, UNWEIGHTED[name])
    if packed:
        file = file.with_name(name + ".gz")
        file.write_bytes(gzip.compress(UNWEIGHTED[name].encode()))
    lexicon = read_lexicon(file)
    assert told(lexicon) == {
        ("glad", "joy", 1.0),
        ("nan", "joy", 1.0),
        ("nan", "fear", 1.0),
        ("null", "fear", 1.0),
    }
    assert lexicon.name == Path(name).stem
    assert lexicon.source == file.name
    assert lexicon.select(["fear", "joy"]).weights(pl.Series(["nan", "NA", "glad"])).tolist() == [
        [1, 1],
        [0, 0],
        [0, 1],
    ]


@pytest.mark.parametrize("name", WEIGHTED)
def test_weighted_formats_say_the_same(name: str, tmp_path: Path) -> None:
    lexicon = read_lexicon(write(tmp_path, name, WEIGHTED[name]))
    assert told(lexicon) == {
        ("glad", "joy", 0.5),
        ("nan", "joy", 2.0),
        ("nan", "fear", 0.1),
        ("null", "fear", 1.0),
    }


def test_lists_of_words_on_lines_of_any_length(tmp_path: Path) -> None:
    text = "help\taid\tassist\tsupport\ncold\tice\tsnow\tfrost\tfreeze\npet\tcat\tdog\n"
    assert told(read_lexicon(write(tmp_path, "empath.tsv", text))) >= {
        ("aid", "help", 1.0),
        ("freeze", "cold", 1.0),
        ("dog", "pet", 1.0),
    }


def test_a_bare_list_is_one_category_named_after_the_file(tmp_path: Path) -> None:
    lexicon = read_lexicon(write(tmp_path, "stop.txt", "the\nnan\n\nof\n"))
    assert told(lexicon) == {("the", "stop", 1.0), ("nan", "stop", 1.0), ("of", "stop", 1.0)}


def test_conditions_of_old_liwc_files_are_counted_not_applied(tmp_path: Path) -> None:
    text = (
        "%\n1\tfunct\n2\taffect\n%\n"
        "like\t(02 134)125/464\t1\t2\nkind\t<of>131/125\nkind of\t1\nhapp*\t2\n"
    )
    lexicon = read_lexicon(write(tmp_path, "old.dic", text))
    assert lexicon.terms == {"like", "happ*"}
    assert lexicon.notes == (
        "2 lines with conditions on neighbouring words (kept without)",
        "1 words without a category left out",
        "1 entries of several words left out (tokens are single words)",
    )


def test_stars_are_wildcards_where_the_format_has_them(tmp_path: Path) -> None:
    dic = read_lexicon(write(tmp_path, "a.dic", "%\n1\tp\n%\na*\t1\n"))
    nrc = read_lexicon(write(tmp_path, "a.txt", "joy\ta*\t0.5\njoy\thapp*\t0.5\n"))
    plain = read_lexicon(write(tmp_path, "a.tsv", "word\tcategory\na*\tp\nhapp*\tp\n"))
    probe = pl.Series(["apple", "happy", "a*"])
    assert dic.weights(probe).ravel().tolist() == [1, 0, 1]
    assert nrc.weights(probe).ravel().tolist() == [0, 0, 0.5]
    assert plain.weights(probe).ravel().tolist() == [0, 1, 1]


def database(folder: Path, **tables: list[tuple[str, str, float | None]]) -> Path:
    file = folder / "lexica.db"
    with sqlite3.connect(file) as connection:
        for table, rows in tables.items():
            connection.execute(
                f"CREATE TABLE {table} (id INTEGER PRIMARY KEY, term, category, weight)"
            )
            connection.executemany(
                f"INSERT INTO {table} (term, category, weight) VALUES (?, ?, ?)", rows
            )
        connection.execute("CREATE TABLE other (x)")
    connection.close()
    return file


EIGHT: list[tuple[str, str, float | None]] = [
    (f"word{i}", emotion, 0.5) for i, emotion in enumerate(PLUTCHIK)
]


def test_the_only_table_is_taken(tmp_path: Path) -> None:
    file = database(tmp_path, mood=[("nan", "joy", 0.5), ("a*", "joy", 1.0)])
    lexicon = read_lexicon(file)
    assert told(lexicon) == {("nan", "joy", 0.5), ("a*", "joy", 1.0)}
    assert lexicon.name == "lexica::mood"


def test_an_unweighted_table_has_weight_one_and_wildcards(tmp_path: Path) -> None:
    lexicon = read_lexicon(database(tmp_path, liwc=[("happ*", "posemo", None)]))
    assert lexicon.weights(pl.Series(["happy"])).tolist() == [[1.0]]


def test_a_table_is_chosen_by_name_or_by_the_categories_needed(tmp_path: Path) -> None:
    file = database(tmp_path, topics=[("a", "7", 0.1)], emotions=EIGHT)
    assert read_lexicon(f"{file}::topics").categories == ("7",)
    assert read_lexicon(file, table="topics").categories == ("7",)
    assert read_emotion_lexicon(file).name == "lexica::emotions"
    with pytest.raises(DialensError, match=r"2 lexicon tables.*lexica\.db::TABLE.*emotions, topic"):
        read_lexicon(file)
    with pytest.raises(DialensError, match="no lexicon table 'x'; choose one of emotions, topics"):
        read_lexicon(f"{file}::x")


def test_an_sqlite_file_without_a_lexicon(tmp_path: Path) -> None:
    with pytest.raises(DialensError, match="no table with the columns term and category"):
        read_lexicon(database(tmp_path))


MALFORMED = {
    "empty": (b"", "the file is empty"),
    "unclosed": (b"%\n1\tjoy\nglad\t1\n", "line 1: .*never closed"),
    "no categories": (b"%\n%\nglad\t1\n", "no category between"),
    "bad category": (b"%\njoy\n%\nglad\t1\n", "line 2: 'joy' is not a category"),
    "twice": (b"%\n1\tjoy\n1\tfear\n%\nglad\t1\n", "line 3: category 1 'fear' stands there twice"),
    "unknown number": (b"%\n1\tjoy\n%\nglad\t1\nsad\t7\n", "line 5: the word 'sad' has category 7"),
    "ragged": (b"glad\tjoy\t1\nsad\tsadness\n", "line 2: 2 columns where line 1 has 3"),
    "not a number": (b"glad\tjoy\t1\nsad\tfear\t2\nbad\tfear\tnan\n", "line 3: .*'bad' is 'nan'"),
    "number in header file": (b"word,category,weight\na,b,much\n", "line 2: .*'a' is 'much'"),
    "no numbers": (b"a\tb\tc\nd\te\tf\n", "line 1: none of the three columns"),
    "many columns": (b"a\tb\tc\t1\nd\te\tf\t2\n", "line 1: 4 columns and no header"),
    "empty word": (b"word\tcategory\na\tb\n\tb\n", "line 3: the word is empty"),
    "header alone": (b"word\tcategory\n", "a header and no word under it"),
    "not utf-8": (b"glad\tjoy\nna\xefve\tjoy\n", "line 2: byte 0xef is not UTF-8"),
    "broken gzip": (gzip.compress(b"glad\tjoy\n" * 99)[:-20], "broken gzip"),
    "broken sqlite": (b"SQLite format 3\x00" + b"x" * 200, "SQLite cannot read it"),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_errors_name_the_file_the_line_and_what_was_seen(case: str, tmp_path: Path) -> None:
    content, message = MALFORMED[case]
    file = tmp_path / "lexicon.txt"
    file.write_bytes(content)
    with pytest.raises(DialensError, match=message) as caught:
        read_lexicon(file)
    assert str(file) in str(caught.value)


def test_missing_files_folders_and_needless_tables(tmp_path: Path) -> None:
    with pytest.raises(DialensError, match="no such file"):
        read_lexicon(tmp_path / "none.dic")
    with pytest.raises(DialensError, match="is a folder"):
        read_lexicon(tmp_path)
    with pytest.raises(DialensError, match="not an SQLite file"):
        read_lexicon(write(tmp_path, "x.tsv", "word\tcategory\na\tb\n"), table="t")


def test_emotions_in_any_case_and_with_others_beside_them() -> None:
    rows = [(word, emotion.title(), weight) for word, emotion, weight in EIGHT]
    rows += [("word0", "positive", 1.0), ("b", "Joy", -0.4), ("a*", "Joy", 0.5)]
    found = as_emotion_lexicon(Lexicon.from_entries("x", rows, shortest_prefix=2))
    assert found.categories == PLUTCHIK
    assert found.terms == {*(word for word, *_ in EIGHT), "a*"}
    assert found.weights(pl.Series(["apple"])).sum() == 0  # a* stayed a plain word
    assert found.notes == ("1 entries with a negative weight left out",)


def test_missing_emotions_are_listed() -> None:
    with pytest.raises(DialensError, match="has no category anticipation, trust;"):
        as_emotion_lexicon(
            Lexicon.from_entries("x", [r for r in EIGHT if r[1] not in ("anticipation", "trust")])
        )
    with pytest.raises(DialensError, match="no word with a positive weight for joy"):
        as_emotion_lexicon(
            Lexicon.from_entries("x", [(w, c, -1.0 if c == "joy" else 1.0) for w, c, _ in EIGHT])
        )


def test_the_liwc_fixture_of_the_shared_data(shared_data: Path) -> None:
    lexicon = read_lexicon(shared_data / "lexicons" / "liwc_format_fixture_alpha.dic")
    assert lexicon.categories == ("A", "Bravo")
    probe = pl.Series(["alpha", "bravo", "charlie"])
    assert lexicon.weights(probe).tolist() == [[1, 0], [0, 1], [0, 0]]
