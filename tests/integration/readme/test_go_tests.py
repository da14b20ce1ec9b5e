"""The page on tests of Go pipelines: its files pass as written, and with the plan of the README's ensemble."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

from scripts.layout import GO_MODULE, ROOT
from tests.support.commands import needed, run
from tests.support.pages import block_with, path_of

PAGE = "how-to/testing-go.md"
BLOCK = re.compile(r"^```\w+\n(?:#|//) (\S+\.\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def with_plan(test: str) -> str:
    """Returns a file with the page's test, whose fake is checked against the plan."""
    head = test[: test.index("func init()")].replace(
        '\t"github.com/apache/beam/sdks/v2/go/pkg/beam/register"\n', ""
    )
    body = test[test.index("func TestScore(") :].replace("TestScore", "TestScoreWithPlan")
    planned = body.replace("\t}))\n", '\t}).WithPlan("flowers.plan.json"))\n')
    assert planned != body
    return head + planned


def test_the_page(tmp_path: Path) -> None:
    needed("go")
    readme = dict(BLOCK.findall((ROOT / "README.md").read_text(encoding="utf-8")))
    for name in ("train.py", "flowers.yaml"):
        (tmp_path / name).write_text(readme[name], encoding="utf-8")
    files = dict(BLOCK.findall(path_of(PAGE).read_text(encoding="utf-8")))
    assert sorted(files) == ["pipeline.go", "pipeline_test.go"]
    files["planned_test.go"] = with_plan(files["pipeline_test.go"])
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    module = (GO_MODULE / "go.mod").read_text()
    path = re.search(r"^module (\S+)$", module, re.MULTILINE)
    assert path
    (tmp_path / "go.mod").write_text(
        re.sub(r"^module \S+$", "module flowers", module, flags=re.MULTILINE)
        + f"\nrequire {path[1]} v0.0.0\n\nreplace {path[1]} => {GO_MODULE}\n"
    )
    shutil.copy(GO_MODULE / "go.sum", tmp_path)
    run(sys.executable, "train.py", folder=tmp_path)
    run("bash", "-euc", block_with(PAGE, "beam-ensembles plan").text, folder=tmp_path)
    commands = block_with(PAGE, "go test").text.replace("go mod tidy\n", "").replace("go test", "go test -v")
    said = run("bash", "-euc", commands, folder=tmp_path, GOFLAGS="-mod=mod")
    assert re.findall(r"^--- PASS: (\w+)", said, re.MULTILINE) == ["TestScore", "TestScoreWithPlan"]
