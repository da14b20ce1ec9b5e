"""What each type of the type language is called in Go, Java and Python, and what is said where it cannot be."""

from __future__ import annotations

import dataclasses

import pytest

from beam_ensembles.code_generation import LANGUAGES, CannotGenerate, EnsembleRows
from beam_ensembles.code_generation.rows import Column
from beam_ensembles.types import PORTABLE_SCALARS, parse_type

NO_WORD = "NO WORD"
TYPES = {
    # type: (Go, Java, Python)
    "string": ("string", "String", "str"),
    "bytes": ("[]byte", "byte[]", "bytes"),
    "boolean": ("bool", "boolean", "bool"),
    "int32": ("int32", "int", "int"),
    "int64": ("int64", "long", "int"),
    "float": ("float32", "float", "float"),
    "double": ("float64", "double", "float"),
    "timestamp": ("time.Time", "Instant", "Timestamp"),
    "timestamp?": ("*time.Time", "@Nullable Instant", "Optional[Timestamp]"),
    "array<timestamp>": ("[]time.Time", "List<Instant>", "Sequence[Timestamp]"),
    "string?": ("*string", "@Nullable String", "Optional[str]"),
    "bytes?": ("[]byte", "@Nullable byte[]", "Optional[bytes]"),
    "boolean?": ("*bool", "@Nullable Boolean", "Optional[bool]"),
    "int32?": ("*int32", "@Nullable Integer", "Optional[int]"),
    "int64?": ("*int64", "@Nullable Long", "Optional[int]"),
    "float?": ("*float32", "@Nullable Float", "Optional[float]"),
    "double?": ("*float64", "@Nullable Double", "Optional[float]"),
    "array<double>": ("[]float64", "List<Double>", "Sequence[float]"),
    "array<float>[2,3]": ("[]float32", "List<Float>", "Sequence[float]"),
    "array<string>?": ("[]string", "@Nullable List<String>", "Optional[Sequence[str]]"),
    "array<array<bytes>>": ("[][][]byte", "List<List<byte[]>>", "Sequence[Sequence[bytes]]"),
    "array<double?>": ("[]*float64", NO_WORD, "Sequence[Optional[float]]"),
    "map<string,int32>": ("map[string]int32", "Map<String, Integer>", "Mapping[str, int]"),
    "map<int64,array<boolean>>": ("map[int64][]bool", "Map<Long, List<Boolean>>", "Mapping[int, Sequence[bool]]"),
    "map<string,double>?": (
        "map[string]float64",
        "@Nullable Map<String, Double>",
        "Optional[Mapping[str, float]]",
    ),
    "map<string,string?>": ("map[string]*string", NO_WORD, "Mapping[str, Optional[str]]"),
    "map<bytes,string>": (NO_WORD, NO_WORD, "Mapping[bytes, str]"),
    "map<array<string>,string>": (NO_WORD, NO_WORD, NO_WORD),
    "row<a: int64>": ("ManyColRow", "ColRow", "ManyColRow"),
    "row<a: int64>?": ("*ManyColRow", "@Nullable ColRow", "Optional[ManyColRow]"),
    "array<row<a: int64>>": ("[]ManyColRow", "List<ColRow>", "Sequence[ManyColRow]"),
    "map<string,row<a: int64>>": ("map[string]ManyColRow", "Map<String, ColRow>", "Mapping[str, ManyColRow]"),
    "row<a: array<double?>>": ("ManyColRow", NO_WORD, "ManyColRow"),
    "uint8": (NO_WORD, NO_WORD, NO_WORD),
    "float16?": (NO_WORD, NO_WORD, NO_WORD),
}  # fmt: skip
FORMS = {
    "go": '\tCol {} `beam:"col" json:"col"`\n',
    "java": "    public {} col;\n",
    "python": "    col: {}\n",
}


def rows(*columns: tuple[str, str], name: str = "many", description: str = "") -> EnsembleRows:
    found = tuple(Column(column, parse_type(type_)) for column, type_ in columns)
    return EnsembleRows(name, "many.yaml", description, found, (Column("answer", parse_type("string")),))


def test_every_type_is_there() -> None:
    assert set(PORTABLE_SCALARS) <= TYPES.keys()


@pytest.mark.parametrize("type_", TYPES)
@pytest.mark.parametrize(("language", "at"), [("go", 0), ("java", 1), ("python", 2)])
def test_a_column_of_a_type(type_: str, language: str, at: int) -> None:
    expected = TYPES[type_][at]
    if expected != NO_WORD:
        assert FORMS[language].format(expected) in LANGUAGES[language].source(rows(("col", type_)), "p").text
        return
    with pytest.raises(CannotGenerate) as refused:
        LANGUAGES[language].source(rows(("col", type_)), "p")
    found = str(parse_type(type_))
    assert str(refused.value).startswith(f"column 'col' is {found}, and ")
    assert "leave it out of 'outputs', convert it" in str(refused.value)


def test_all_columns_that_cannot_be_are_named() -> None:
    with pytest.raises(CannotGenerate, match=r"column 'a' is uint8, .*; column 'b' is float16, "):
        LANGUAGES["go"].source(rows(("a", "uint8"), ("b", "float16")), None)


@pytest.mark.parametrize(
    ("language", "column", "field"),
    [
        ("go", "fraud_p", 'FraudP float64 `beam:"fraud_p" json:"fraud_p"`'),
        ("go", "account_id", 'AccountID float64 `beam:"account_id" json:"account_id"`'),
        ("go", "my-field", 'MyField float64 `beam:"my-field" json:"my-field"`'),
        ("go", "_x", 'X float64 `beam:"_x" json:"_x"`'),
        ("go", "x_1_2", 'X1_2 float64 `beam:"x_1_2" json:"x_1_2"`'),
        ("go", "größe", 'Größe float64 `beam:"größe" json:"größe"`'),
        ("go", "名", 'X名 float64 `beam:"名" json:"名"`'),
        ("go", "ßx", 'SSx float64 `beam:"ßx" json:"ßx"`'),
        ("java", "fraud_p", '@SchemaFieldName("fraud_p")\n    public double fraudP;'),
        ("java", "class", '@SchemaFieldName("class")\n    public double class_;'),
        ("java", "my-field", '@SchemaFieldName("my-field")\n    public double myField;'),
        ("java", "amount", "/** amount: double */\n    public double amount;"),
        ("python", "fraud_p", "    fraud_p: float\n"),
        ("python", "class", "    class_: float\n"),
        ("python", "_x", "    x: float\n"),
        ("python", "my-field", "    my_field: float\n"),
        ("python", "ﬁeld", "    field: float\n"),
        ("python", "_1", "    x1: float\n"),
    ],
)
def test_a_column_whose_name_is_not_the_languages(language: str, column: str, field: str) -> None:
    assert field in LANGUAGES[language].source(rows((column, "double")), "p").text


def test_python_says_which_field_an_input_is() -> None:
    text = LANGUAGES["python"].source(rows(("class", "double"), ("x", "double")), None).text
    assert "beam_ensembles.RunEnsemble(file, columns={'class': 'class_'}, **options)" in text
    field = dataclasses.replace(rows(), fields=(Column("class", parse_type("string")),))
    with pytest.raises(CannotGenerate, match="rows of Python have no field 'class'"):
        LANGUAGES["python"].source(field, None)
    with pytest.raises(CannotGenerate, match="rows of Python have no field 'from'"):
        LANGUAGES["python"].source(rows(("x", "row<from: string>")), None)


@pytest.mark.parametrize(
    ("language", "columns", "name"),
    [
        ("go", [("fraud_p", "double"), ("fraudP", "double")], "FraudP"),
        ("java", [("fraud_p", "double"), ("fraudP", "double")], "fraudP"),
        ("python", [("class", "double"), ("class_", "double")], "class_"),
        ("go", [("a", "row<b: row<c: string>>"), ("a_b", "row<d: string>")], "ManyABRow"),
        ("java", [("a", "row<b: row<c: string>>"), ("a_b", "row<d: string>")], "ABRow"),
    ],
)
def test_two_things_of_one_name(language: str, columns: list[tuple[str, str]], name: str) -> None:
    with pytest.raises(CannotGenerate, match=f"would both be called '{name}' in .*; rename one of them"):
        LANGUAGES[language].source(rows(*columns), None)


@pytest.mark.parametrize(
    ("language", "package", "is_right"),
    [
        ("go", "flowers", True), ("go", "main", True), ("go", "func", False), ("go", "a.b", False), ("go", "", False),
        ("java", "com.example.flowers", True), ("java", "com.class", False), ("java", "com..a", False),
        ("java", "flowers;", False), ("python", "flowers", False),
    ],
)  # fmt: skip
def test_names_of_packages(language: str, package: str, is_right: bool) -> None:
    assert (LANGUAGES[language].check_package(package) is None) == is_right


@pytest.mark.parametrize(("language", "title"), [("go", "Go"), ("java", "Java")])
def test_an_ensemble_whose_name_makes_no_package(language: str, title: str) -> None:
    with pytest.raises(CannotGenerate, match=f"makes no {title} package's name; give one with --package"):
        LANGUAGES[language].source(rows(name="名"), None)
    assert LANGUAGES[language].source(rows(name="名"), "names").text


def test_an_ensemble_called_ensemble() -> None:
    """Its transform is called as that of the package is."""
    text = LANGUAGES["python"].source(rows(("x", "double"), name="ensemble"), None).text
    assert "def RunEnsemble(rows: beam.PCollection[EnsembleInput]" in text
    assert "import RunEnsemble" not in text


HOSTILE = 'One. */ } \\u002a/ """ {@code x} <b>\n\n+build ignore\r\n//go:build ignore\x00\u202e\u2028end'


@pytest.mark.parametrize(("language", "sign"), [("go", "//"), ("java", "*"), ("python", None)])
def test_a_description_stays_a_comment(language: str, sign: str | None) -> None:
    """Whoever writes an ensemble file writes no code of the program that runs it."""
    text = LANGUAGES[language].source(rows(description=HOSTILE), "p").text
    assert all(letter.isprintable() or letter in "\n\t" for letter in text)
    about = [line.strip() for line in text.splitlines() if "ignore" in line or "One." in line]
    assert about
    if sign is None:
        compile(text, "rows.py", "exec")
        assert "One. */" in str([node for node in text.split('"""') if "One." in node])
    else:
        assert all(line.startswith(f"{sign} ") for line in about)
    if language == "java":
        assert "\\" not in text
        assert text.count("*/") == text.count("/**")


def test_labels_stay_in_their_line() -> None:
    column = Column("answer", parse_type("string"), "one of a\nb \\u000a } c")
    found = EnsembleRows("many", "a\\u000ab.yaml", "", (), (column,))
    for language in LANGUAGES.values():
        text = language.source(found, None if language.command == "python" else "p").text
        assert not any(line.startswith("b ") for line in text.splitlines())
    assert "\\" not in LANGUAGES["java"].source(found, "p").text
