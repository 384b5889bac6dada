"""`dialens traits fit` as a user runs it: the report, the folder it leaves, what it refuses."""

import gzip
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner, Result

from dialens.base import DialensError
from dialens.cli._traits import app
from dialens.models import traits

FILLER = [f"word{i}" for i in range(12)]


def run(*arguments: object) -> Result:
    return CliRunner(env={"COLUMNS": "140"}).invoke(app, ["fit", *map(str, arguments)])


def labelled(people: int = 30, seed: int = 0) -> pl.DataFrame:
    """Three texts a person; the warmer, the more often they say "kind"."""
    rng = np.random.default_rng(seed)
    rows = []
    for person in range(people):
        warmth = round(float(rng.normal()), 3)
        for _ in range(3):
            kind = ["kind"] * int(rng.binomial(6, 1 / (1 + np.exp(-2 * warmth))))
            rows.append((f"user_{person}", " ".join([*rng.choice(FILLER, 6), *kind]), warmth))
    return pl.DataFrame(rows, schema=["who", "says", "warmth"], orient="row")


COLUMNS = ("--text", "says", "--target", "warmth", "--group", "who", "--folds", 3)
QUICK = (*COLUMNS, "--features", "ngrams")


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    labelled().write_csv(tmp_path / "texts.csv")
    return tmp_path / "texts.csv"


def test_the_report_is_printed_and_written(table: Path, tmp_path: Path) -> None:
    ran = run(table, *QUICK, "-o", "out", "--seed", 5)
    assert ran.exit_code == 0, ran.exception
    for part in ("r by person", "r by text", "r per fold", "3 folds by person", "90 texts of 30"):
        assert part in ran.output
    (raised,) = [line for line in ran.output.splitlines() if line.startswith("  raised by")]
    assert "kind" in raised
    out = tmp_path / "out"
    report = json.loads((out / "report.json").read_text())
    found = pl.read_parquet(out / "predictions.parquet")
    assert found.columns == ["person", "fold", "truth", "predicted"]
    assert (report["n_persons"], report["n_texts"], len(report["per_fold"])) == (30, 90, 3)
    r = np.corrcoef(found["truth"], found["predicted"])[0, 1]
    assert report["by_person"]["value"] == pytest.approx(r)
    assert report["by_person"]["low"] < r < report["by_person"]["high"]
    assert r > 0.5, "the signal was planted"
    for fold, value in enumerate(report["per_fold"]):
        rows = found.filter(fold=fold)
        assert value == pytest.approx(np.corrcoef(rows["truth"], rows["predicted"])[0, 1])
    record = json.loads((out / "run.json").read_text())
    assert (record["command"], record["seed"]) == ("traits fit", 5)
    assert "user_1" not in "".join(file.read_bytes().decode("latin-1") for file in out.iterdir()), (
        "people appear as numbers"
    )


def test_the_folder_is_a_model_with_a_card(table: Path, tmp_path: Path) -> None:
    assert run(table, *QUICK, "--licence", "CC BY 4.0").exit_code == 0
    folder = tmp_path / "traits_warmth"
    model = traits.load(folder)
    warm, cold = model.predict(["kind kind kind word1", "word1 word2 word3"])
    assert warm > cold
    from dialens.models import catalogue, verify

    (entry,) = catalogue(folder).entries
    assert entry.missing == ()
    assert (entry.name, entry.kind, entry.reads) == ("warmth", "trait", "a person's texts")
    assert entry.data[0]["licence"] == "CC BY 4.0"
    assert {check.problem for check in verify(folder)} == {None}


def test_the_same_seed_gives_the_same_report(table: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        run(table, *QUICK, "-o", name)
    assert (tmp_path / "a/report.json").read_bytes() == (tmp_path / "b/report.json").read_bytes()
    assert (tmp_path / "a/card.json").read_bytes() == (tmp_path / "b/card.json").read_bytes()


def test_other_files_say_the_same(table: Path, tmp_path: Path) -> None:
    rows = labelled()
    rows.write_parquet(tmp_path / "t.parquet")
    rows.write_ndjson(tmp_path / "t.jsonl")
    rows.write_csv(tmp_path / "t.tsv", separator="\t")
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(table.read_bytes()))
    run(table, *QUICK, "-o", "csv")
    expected = json.loads((tmp_path / "csv/report.json").read_text())
    for name in ("t.parquet", "t.jsonl", "t.tsv", "t.csv.gz"):
        ran = run(tmp_path / name, *QUICK, "-o", "other")
        assert ran.exit_code == 0, ran.exception
        assert json.loads((tmp_path / "other/report.json").read_text()) == expected


def test_own_topics_are_remembered(table: Path, tmp_path: Path) -> None:
    entries = [("kind", "warm", 1.0), *((word, "plain", 1.0) for word in FILLER)]
    topics = pl.DataFrame(entries, schema=["term", "category", "weight"], orient="row")
    topics.write_csv(tmp_path / "mine.tsv", separator="\t")
    ran = run(table, *COLUMNS, "--features", "topics", "--topics", "mine.tsv", "-o", "out")
    assert ran.exit_code == 0, ran.exception
    warm, cold = traits.load("out").predict(["kind kind word1", "word1 word2"])
    assert warm > cold


def test_rows_with_gaps_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = labelled().with_columns(pl.col("warmth").cast(pl.String))
    gaps = [("user_1", "  ", "1"), ("user_2", "", "2"), ("user_3", "hi", "NA"), ("", "hi", "3")]
    more = pl.DataFrame(gaps, schema=rows.schema, orient="row")
    pl.concat([rows, more]).write_csv("t.csv")
    ran = run("t.csv", *QUICK, "-o", "out")
    assert ran.exit_code == 0, ran.exception
    assert "2 with no text, 1 with no target, 1 with no group" in ran.output
    report = json.loads(Path("out/report.json").read_text())
    assert report["dropped"] == {"no text": 2, "no target": 1, "no group": 1}
    assert json.loads(Path("out/run.json").read_text())["rejected"] == report["dropped"]


def test_noise_is_called_noise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    rows = [(f"p{i}", " ".join(rng.choice(FILLER, 9)), float(rng.normal())) for i in range(24)]
    pl.DataFrame(rows, schema=["who", "says", "warmth"], orient="row").write_csv("t.csv")
    ran = run("t.csv", *QUICK, "-o", "out")
    assert ran.exit_code == 0, ran.exception
    assert "no evidence that this model works" in ran.output
    assert json.loads(Path("out/card.json").read_text())["research_grade"] is True


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"--text": "sayz"}, "no column 'sayz'. Did you mean says"),
        ({"--target": "says", "--text": "who", "--group": "warmth"}, "which is not a number"),
        ({"--group": "says"}, "must be three columns"),
        ({"--folds": "20"}, "30 people in the column 'who' are too few for 20 folds"),
        ({"--features": "smiles"}, "choose 'ngrams', 'topics' or both"),
        ({"--min-persons": "99"}, "no word is used by 99 people or more"),
        ({"--topics": "nowhere.tsv"}, "nowhere.tsv"),
    ],
)
def test_what_cannot_be_fitted_is_refused(table: Path, change, message) -> None:
    given = dict(zip(QUICK[::2], QUICK[1::2], strict=True)) | change
    ran = run(table, *(part for pair in given.items() for part in pair), "-o", "out")
    assert isinstance(ran.exception, DialensError), ran.output
    assert message in str(ran.exception)
    assert not Path("out").exists(), "nothing is left half written"


def test_tables_that_hold_nothing_to_fit_are_refused(table: Path, tmp_path: Path) -> None:
    def refusal(rows: pl.DataFrame) -> str:
        rows.write_csv(tmp_path / "bad.csv")
        ran = run(tmp_path / "bad.csv", *QUICK, "-o", "out")
        assert isinstance(ran.exception, DialensError)
        return str(ran.exception)

    rows = labelled()
    assert "is 3 in every row" in refusal(rows.with_columns(warmth=pl.lit(3)))
    assert "90 rows with no text left out" in refusal(rows.with_columns(says=pl.lit(" ")))
    assert "infinite" in refusal(rows.with_columns(warmth=pl.lit("inf")))
    (tmp_path / "empty.csv").touch()
    assert "is empty" in str(run(tmp_path / "empty.csv", *QUICK).exception)
    assert "is not there" in str(run(tmp_path / "nowhere.csv", *QUICK).exception)
    (tmp_path / "cut.parquet").write_bytes(b"PAR1 and no more")
    assert "cannot be read" in str(run(tmp_path / "cut.parquet", *QUICK).exception)


def test_nan_in_json_is_a_gap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = labelled().to_dicts()
    rows[1]["warmth"], rows[2]["warmth"] = float("nan"), None
    Path("t.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    Path("t.json").write_text(json.dumps(rows, indent=1))
    for name in ("t.jsonl", "t.json"):
        ran = run(name, *QUICK, "-o", "out")
        assert ran.exit_code == 0, ran.exception
        assert json.loads(Path("out/report.json").read_text())["dropped"] == {"no target": 2}


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ('{"who": "a", "says": "x"\n{"who"\n', "line 1 is not JSON (Expecting ',' delimiter"),
        ('{"who": 1}\n\n{"who": NaM}\n', "line 3 is not JSON"),
        ('{"who": 1}\n5\n', "line 2 is no JSON object"),
        ('[{"who": 1}, {"who": }]', "line 1 is not JSON"),
    ],
)
def test_broken_json_is_named_by_its_line(tmp_path: Path, broken: str, message: str) -> None:
    file = tmp_path / "t.jsonl"
    file.write_text(broken)
    ran = run(file, *QUICK, "-o", tmp_path / "out")
    assert isinstance(ran.exception, DialensError)
    assert f"{file}, {message}" in str(ran.exception)
    assert "mend it or leave it out" in str(ran.exception)


def test_a_column_that_is_there_twice_is_refused(table: Path) -> None:
    lines = table.read_text().splitlines()
    for kept, refused in (("warmth", True), ("mood", False)):
        head = f"{lines[0]},{kept},mood"
        table.write_text("\n".join([head, *(f"{line},1,2" for line in lines[1:])]))
        ran = run(table, *QUICK, "-o", "out")
        if refused:
            assert isinstance(ran.exception, DialensError)
            assert "has 2 columns 'warmth'" in str(ran.exception)
        else:
            assert ran.exit_code == 0, ran.exception


def test_only_what_can_be_scored_is_offered(table: Path) -> None:
    assert run(table, *QUICK, "-o", "out", "--longest", 4).exit_code == 2
    assert run(table, *QUICK, "-o", "out", "--longest", 3).exit_code == 0


def test_an_interval_below_zero_is_not_said_to_include_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One person in sixty differs: left out, they pull everybody else's prediction away."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    rows = [(f"p{i}", " ".join(rng.choice(FILLER, 9)), float(i == 3)) for i in range(60)]
    pl.DataFrame(rows, schema=["who", "says", "warmth"], orient="row").write_csv("t.csv")
    ran = run("t.csv", *QUICK, "-o", "out")
    assert ran.exit_code == 0, ran.exception
    found = json.loads(Path("out/report.json").read_text())["by_person"]
    assert found["high"] < 0
    assert "The interval lies below 0" in ran.output
    assert "The interval lies below 0" in json.loads(Path("out/card.json").read_text())["limits"]


def test_help_has_examples() -> None:
    assert "dialens traits fit essays.csv" in run("--help").output
