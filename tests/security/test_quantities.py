"""Files and settings that say much with little: each is refused, before it costs memory or minutes."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from beam_ensembles import limits
from beam_ensembles.errors import EnsembleError, InvalidEnsemble, Problem
from beam_ensembles.files.ensemble_files import Files
from beam_ensembles.graph import check_text, checks, plan
from beam_ensembles.processes.child_process import own_cores
from beam_ensembles.processes.process_count import count_of_processes
from beam_ensembles.registry import KINDS
from tests.support.patience import SECONDS

_MOST_BYTES = 4 << 30
_LONG = "a" * 999


def ensemble(node: str, inputs: str = "{x: double, t: string}") -> str:
    return f"ensemble: e\ninputs: {inputs}\nnodes:\n  n: {node}\n"


def problems(text: str, parameters: dict[str, str] | None = None) -> tuple[Problem, ...]:
    with pytest.raises(InvalidEnsemble) as caught:
        check_text(text, KINDS, Files(), parameters=parameters)
    return caught.value.problems


def in_child(text: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Validates a file in a process that may not take much memory."""
    path = folder / "e.yaml"
    path.write_text(text)
    code = "import sys; from beam_ensembles.cli.main import main; sys.exit(main(['validate', sys.argv[1], '--json']))"
    return subprocess.run(
        [sys.executable, "-c", code, str(path)],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (_MOST_BYTES, _MOST_BYTES)),
    )


def test_a_parameter_that_a_file_names_often_is_not_filled_in() -> None:
    text = ensemble('{apply: sql, select: {y: x}, texts: "' + "${p}" * 10_000 + '"}')
    tracemalloc.start()
    try:
        found = problems(text, {"p": "a" * 100_000})
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()
    assert "too_large" in {one.code for one in found}
    many = ensemble("{apply: sql, select: {y: x}, texts: [" + '"${p}", ' * 10_000 + "]}")
    assert "too_large" in {one.code for one in problems(many, {"p": "a" * 100_000})}


@pytest.mark.parametrize(
    "parameters",
    [
        {"p": "a" * (limits.LONGEST_PARAMETER + 1)},
        {"p" * (limits.LONGEST_PARAMETER + 1): "a"},
        {f"p{at}": "a" for at in range(limits.MOST_PARAMETERS + 1)},
    ],
    ids=["value", "name", "count"],
)
def test_parameters_have_limits(parameters: dict[str, str]) -> None:
    found = problems(ensemble("{apply: sql, select: {y: x}}"), parameters)
    assert [one.code for one in found] == ["too_large"]
    assert len(str(InvalidEnsemble(found))) < 500


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("a" * (limits.LONGEST_FILE + 1), "too_large"),
        ("{" + "k" * (limits.LONGEST_KEY + 1) + ": 1}", "too_large"),
        ('{"' + "k" * (limits.LONGEST_KEY + 1) + '": 1}', "too_large"),
        ("k" * 900 + ": [" + "1," * 100_000 + "]", "too_large"),
        ("n: &a [x, x]\nm: [*a, *a]", "syntax"),
        (ensemble("{apply: sql, select: {y: x}}", "{" + "x" * 251 + ": double}"), "bad_name"),
        (ensemble("{combine: mean, inputs: [x], outputs: {y: {from: '" + "p" * 251 + "'}}}"), "bad_name"),
        (ensemble('{combine: mean, inputs: [x], outputs: {y: {from: "p\\e[31m"}}}'), "bad_name"),
        (ensemble('{combine: mean, inputs: [x], outputs: {y: {from: "\\u202eabc"}}}'), "bad_name"),
        (
            "ensemble: e\ninputs: {x: double}\nnodes: {"
            + ", ".join(f"n{at}: 1" for at in range(limits.MOST_NODES + 1))
            + "}",
            "too_large",
        ),
        (
            ensemble(
                "{apply: sql, select: {" + ", ".join(f"c{at}: {'x + ' * 200}x" for at in range(260)) + "}}"
            ),
            "too_large",
        ),
    ],
    ids=["file", "key", "json", "places", "alias", "name", "port", "escape", "bidi", "nodes", "expressions"],
)
def test_a_file_has_limits(text: str, code: str) -> None:
    found = problems(text)
    assert code in {one.code for one in found}
    assert all(one.message.isprintable() and one.path.isprintable() for one in found)


@pytest.mark.parametrize(
    "type_",
    [
        "array<double>[1000000000]",
        "array<double>[65535,65535,65535]",
        f"array<double>[{'9' * 5000}]",
        f"array<double>[{'1,' * 40}1]",
        "array<" * 40 + "double" + ">" * 40,
        "optional<" * 2_000 + "double" + ">" * 2_000,
        f"row<{','.join(f'f{at}: double' for at in range(20_000))}>",
        "array<double>[١٢]",
        "array<double>[0]",
    ],
    ids=["large", "product", "digits", "dimensions", "deep", "deeper", "long", "digits of others", "nothing"],
)
def test_a_type_has_limits(type_: str) -> None:
    (found,) = problems(ensemble("{apply: sql, select: {y: x}}", f'{{x: "{type_}"}}'))
    assert found.code == "bad_type"
    assert "sys.set_int_max" not in found.message
    assert len(found.message) <= limits.LONGEST_MESSAGE


@pytest.mark.parametrize(
    "expression",
    [
        "CONCAT(t, REPLACE(LPAD('a', 65535, 'a'), 'a', LPAD('a', 65000, 'a')))",
        "REPLACE(LPAD(COALESCE(t, 'a'), 65535, 'a'), 'a', LPAD(COALESCE(t, 'a'), 65000, 'a'))",
        f"CONCAT(t, REPLACE(REPLACE(REPLACE('aa', 'a', '{_LONG}'), 'a', '{_LONG}'), 'a', '{_LONG}'))",
        "ARRAY_TO_STRING(STRING_TO_ARRAY(LPAD(t, 65535, 'a'), ''), LPAD('a', 65535, 'a'))",
    ],
)
def test_an_expression_makes_no_large_text_of_its_constants(expression: str, tmp_path: Path) -> None:
    answer = in_child(ensemble(f'{{apply: sql, select: {{y: "{expression}"}}}}', "{t: string}"), tmp_path)
    assert answer.returncode == 1, answer.stderr[-2000:]
    (found,) = json.loads(answer.stdout)["problems"]
    assert found["code"] == "bad_expression"
    assert "of its constants" in found["message"]


def test_expressions_of_real_files_are_no_large_texts() -> None:
    template = (
        "REPLACE(REPLACE(REPLACE(REPLACE(t, '{a}', 'alpha'), '{b}', 'beta'), '{c}', 'gamma'), ' ', '__')"
    )
    padded = "REPLACE(CONCAT(LPAD(t, 8, '0'), RPAD(t, 65535, ' ')), '0', 'zero')"
    text = ensemble(f'{{apply: sql, select: {{y: "{template}", z: "{padded}"}}}}', "{t: string}")
    assert check_text(text, KINDS, Files()).outputs


@pytest.mark.parametrize(
    "pattern",
    [r"\\w{150}", r"(\\w{5}){30}", r"[\\w-]{0,150}", r"(?i)(?:\\pL|x){99}{1}", r"\\W{50,150}?"],
)
def test_regular_expressions_of_a_file_have_a_limit_together(pattern: str) -> None:
    each = [f"REGEXP_REPLACE(t, '{pattern}{at}', 'a')" for at in range(150)]
    text = ensemble(f'{{apply: sql, select: {{y: "CONCAT({", ".join(each)})"}}}}')
    problems(text)  # the first time imports what reads expressions
    began = time.process_time()
    (found,) = problems(text)
    assert time.process_time() - began < 3
    assert found.code == "bad_expression"
    assert "the regular expressions of the file" in found.message


@pytest.mark.parametrize(
    "nodes",
    [
        ", ".join(
            f"n{at}: {{combine: first, inputs: [x, y], outputs: {{c{at}: null}}}}" for at in range(400)
        ),
        ", ".join(f"n{at}: {{apply: sql, select: {{c{at}: x}}}}" for at in range(400)),
        "n: {apply: sql, select: {" + ", ".join(f"c{at}: x" for at in range(400)) + "}}",
        ", ".join(f"n{at}: {{apply: sql, select: {{c{at}: z}}, when: x IS NULL}}" for at in range(400)),
    ],
    ids=["outputs", "nodes", "expressions", "conditions"],
)
def test_rows_with_many_fields_are_not_multiplied(nodes: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "MOST_FIELDS", 20_000)

    def text(fields: int) -> str:
        row = f"row<{', '.join(f'f{at}: double' for at in range(fields))}>"
        return f"ensemble: e\ninputs: {{x: '{row}', y: '{row}', z: double}}\nnodes: {{{nodes}}}\n"

    check_text(text(10), KINDS, Files())  # the first time imports what reads expressions
    began = time.process_time()
    check_text(text(10), KINDS, Files())
    narrow = time.process_time() - began
    began = time.process_time()
    found = problems(text(1_000))
    assert time.process_time() - began < 10 * narrow + 1
    assert [one.code for one in found] == ["too_large"]


def test_rows_of_real_files_have_room() -> None:
    row = f"row<{', '.join(f'f{at}: double' for at in range(100))}>"
    taken = ", ".join(f"c{at}: x.f{at}" for at in range(100))
    text = ensemble(f"{{apply: sql, select: {{{taken}}}}}", f"{{x: '{row}'}}")
    assert len(check_text(text, KINDS, Files()).outputs) == 100


@pytest.mark.parametrize("expression", ["LEAST()", "x + GREATEST()", "LEAST() > x"])
def test_an_expression_on_which_polars_panics_is_refused(expression: str) -> None:
    (found,) = problems(ensemble(f'{{apply: sql, select: {{y: x, z: "{expression}"}}}}'))
    assert found.code == "bad_expression"


def test_patterns_that_are_made_count_as_large_ones() -> None:
    most = limits.MOST_IN_PATTERNS // 20_000
    allowed, refused = (" OR ".join(["REGEXP_LIKE(t, t)"] * count) for count in (most, most + 1))
    assert check_text(ensemble(f'{{apply: sql, select: {{y: "{allowed}"}}}}'), KINDS, Files()).outputs
    (found,) = problems(ensemble(f'{{apply: sql, select: {{y: "{refused}"}}}}'))
    assert f"stand for more than {limits.MOST_IN_PATTERNS:,} characters" in found.message


def test_regular_expressions_of_real_files_are_not_too_large() -> None:
    nodes = "".join(
        f"  n{at}: {{apply: sql, select: {{y{at}: \"t ~ '^[\\\\w.+-]+@\\\\w+\\\\.[a-z]{{2,}} \\\\d{{4}}$'\"}}}}\n"
        for at in range(200)
    )
    assert check_text(f"ensemble: e\ninputs: {{t: string}}\nnodes:\n{nodes}", KINDS, Files()).outputs


@pytest.mark.parametrize(
    "options",
    [
        "timeout: .nan, isolate: process",
        "timeout: .inf, isolate: process",
        "timeout: 1e308, isolate: process",
        "timeout: -1, isolate: process",
        "retries: 1000000",
        "retries: -1",
    ],
)
def test_calls_have_limits(options: str) -> None:
    (found,) = problems(ensemble(f"{{apply: sql, select: {{y: x}}, {options}}}"))
    assert found.code == "bad_value"


def test_stages_have_a_limit() -> None:
    nodes = "".join(
        f"  n{at}: {{apply: sql, select: {{y{at}: x}}, stage: own}}\n" for at in range(limits.MOST_STAGES + 2)
    )
    graph = check_text(f"ensemble: e\ninputs: {{x: double}}\nnodes:\n{nodes}", KINDS, Files())
    with pytest.raises(InvalidEnsemble) as caught:
        plan(graph)
    assert caught.value.problems[0].code == "too_large"


def test_an_answer_is_bounded() -> None:
    unknown = ", ".join(f"{'column' * 30}_{at}" for at in range(4_000))
    with pytest.raises(InvalidEnsemble) as caught:
        check_text(
            ensemble(f"{{combine: mean, inputs: [{unknown}], outputs: {{y: double}}}}"), KINDS, Files()
        )
    assert len(caught.value.problems) == limits.MOST_PROBLEMS
    assert caught.value.count == 4_000
    assert "4000 problems" in str(caught.value)
    assert len(str(caught.value)) < limits.MOST_SHOWN * (limits.LONGEST_MESSAGE + limits.LONGEST_PLACE)


@pytest.fixture
def rows(tmp_path: Path) -> list[str]:
    (tmp_path / "e.yaml").write_text(ensemble("{apply: sql, select: {y: x + 1}}", "{x: double}"))
    (tmp_path / "in.jsonl").write_text('{"x": 1}\n{"x": 2}\n')
    return [
        "run",
        str(tmp_path / "e.yaml"),
        "--input",
        str(tmp_path / "in.jsonl"),
        "--output",
        str(tmp_path / "o.jsonl"),
    ]


def run(arguments: list[str], environment: dict[str, str] | None = None) -> Any:
    code = "import sys; from beam_ensembles.cli.main import main; sys.exit(main(sys.argv[1:]))"
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


def test_variables_without_a_value_say_nothing(rows: list[str]) -> None:
    names = ("STAGE_PROCESSES", "LOG_ROWS", "LOG_FORMAT", "ADDR", "CACHE", "CORES")
    empty = {f"BEAM_ENSEMBLES_{name}": "" for name in names}
    answer = run([*rows, "--json"], {**empty, "OMP_NUM_THREADS": "", "XDG_CACHE_HOME": ""})
    assert answer.returncode == 0, answer.stderr
    assert json.loads(answer.stdout)["scored"] == 2


@pytest.mark.parametrize("said", ["257", "-1", "nan", "1e9", "٣", "9" * 5_000])
def test_variables_with_nonsense_are_refused_in_one_sentence(
    said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BEAM_ENSEMBLES_STAGE_PROCESSES", said)
    with pytest.raises(EnsembleError, match="whole number from 0 to 256") as caught:
        count_of_processes()
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("said", ["", "0", "-1", "nan", "٣", "9" * 5_000])
def test_a_count_of_cores_that_is_none_says_nothing(said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BEAM_ENSEMBLES_CORES", said)
    assert own_cores() is None
