"""The fraud example: what its cascade is worth, and its accounts in PostgreSQL instead of an SQLite file."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from beam_ensembles.cli.main import main
from examples.fraud import payments, pipeline
from scripts import answers
from scripts.answers import Answer
from scripts.example import Example
from scripts.examples.table import EXAMPLES
from tests.support.postgres import PASSWORD, running_postgres

FEW = 500


@pytest.fixture(scope="module")
def fraud() -> Example:
    """The example, with its models and rows."""
    (example,) = (one for one in EXAMPLES if one.name == "fraud")
    example.make_models()
    return example


def scored(rows: Path, output: Path, *flags: str) -> list[Answer]:
    """Returns what the pipeline says of payments."""
    pipeline.main([f"--input={rows}", f"--output={output}", "--runner=FnApiRunner", *flags])
    return answers.read(output)


@pytest.fixture(scope="module")
def with_sqlite(fraud: Example, tmp_path_factory: pytest.TempPathFactory) -> list[Answer]:
    """What the pipeline says of all payments, with the accounts where they are by default."""
    return scored(fraud.input, tmp_path_factory.mktemp("scored") / "scored.jsonl")


def test_the_cascade_is_better_than_the_cheap_models_and_asks_the_forest_seldom(
    with_sqlite: list[Answer],
) -> None:
    rows = pd.DataFrame(with_sqlite)
    audited = rows[rows["arm"] == "audit"]
    cheap, cascade, forest = (
        roc_auc_score(audited["fraud"], audited[column]) for column in ("cheap_p", "fraud_p", "forest_p")
    )
    assert cheap > 0.85
    assert cascade > cheap + 0.01
    assert cascade > forest - 0.02
    assert rows["unsure"].mean() < 0.3
    asked = rows["unsure"] | (rows["arm"] == "audit")
    assert (rows["forest_p"].notna() == asked).all()
    assert (rows["fraud_p"] == rows["forest_p"].where(rows["unsure"], rows["cheap_p"])).all()


def test_the_lock_says_what_a_change_of_the_file_does(
    fraud: Example, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = Path(shutil.copytree(fraud.models.parent, tmp_path / "fraud"))
    shutil.copytree(fraud.models, copy / "models", dirs_exist_ok=True)
    file, lock = copy / "fraud.yaml", copy / "fraud.lock.yaml"
    assert main(["check", str(file)]) == 0
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("review_from: 0.3", "review_from: 0.1"), encoding="utf-8")
    capsys.readouterr()
    limits = ["--max-label-changes", "0.1%", "--label", "fraud", "--answer", "fraud_p", "--json"]
    assert main(["diff", str(lock), str(file), "--by", "country", *limits]) == 1
    found = json.loads(capsys.readouterr().out)
    assert [one["node"] for one in found["behaviour"]["causes"]] == ["decide"]
    assert found["better"] == found["worse"] == 0


def test_the_accounts_may_be_in_postgresql(
    fraud: Example, with_sqlite: list[Answer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = fraud.input.read_text(encoding="utf-8").splitlines(keepends=True)[:FEW]
    few = tmp_path / "few.jsonl"
    few.write_text("".join(lines), encoding="utf-8")
    payers = {row["id"]: row["account"] for row in map(json.loads, lines)}
    accounts = pd.read_sql_table("accounts", f"sqlite:///{fraud.models / 'accounts.db'}")
    disputed = next(name for name in payers.values() if name in set(accounts["account"]))
    accounts.loc[accounts["account"] == disputed, "disputes"] += 20  # what only PostgreSQL knows
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    with running_postgres() as server:
        payments.write_accounts(accounts, server.url())
        url = f"postgresql+psycopg://tester@127.0.0.1:{server.port}/postgres"
        found = scored(few, tmp_path / "scored.jsonl", f"--database={url}")
    pairs = list(zip(with_sqlite[:FEW], found, strict=True))
    others = [pair for pair in pairs if payers[pair[0]["id"]] != disputed]
    assert 0 < len(others) < FEW
    unlike = answers.differences(
        "SQLite", [old for old, _ in others], "PostgreSQL", [new for _, new in others]
    )
    assert unlike == []
    assert all(new["cheap_p"] > old["cheap_p"] for old, new in pairs if payers[old["id"]] == disputed)
