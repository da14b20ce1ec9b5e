"""``beam-ensembles evaluate FILE --input ROWS --label FIELD``: how good an ensemble and its members are."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Final

from beam_ensembles.cli import labelled_rows
from beam_ensembles.cli.ensemble_file import add_file_arguments
from beam_ensembles.cli.number_arguments import finite, not_allowed, whole_number
from beam_ensembles.cli.output import counted, print_json
from beam_ensembles.cli.reading_rows import files_misuse, run_verb
from beam_ensembles.cli.run_progress import Show, progress
from beam_ensembles.cli.write_errors import naming

if TYPE_CHECKING:
    from beam_ensembles.evaluation.request import Request
    from beam_ensembles.evaluation.results import Evaluation
    from beam_ensembles.graph.profile import Profile

DESCRIPTION: Final = """\
Evaluate an ensemble on rows whose answer is known: the ensemble, and every model and combiner in it on its own. It says
whether the ensemble is better than its best member, by how much, and what each node costs.

examples:
  beam-ensembles evaluate fraud.yaml --input labelled.parquet --label is_fraud
  beam-ensembles evaluate fraud.yaml --input labelled.csv --label kind --positive fraud --by country
  beam-ensembles evaluate price.yaml --input sold.jsonl --label price --task numbers --quantile 0.9
  beam-ensembles evaluate search.yaml --input clicks.jsonl --label clicked --task lists --k 5
  beam-ensembles evaluate fraud.yaml --input labelled.parquet --label is_fraud --report report.html
  beam-ensembles evaluate fraud.yaml --input training.parquet --profile fraud.profile.json

metrics, with scikit-learn's functions:
  labels    accuracy, balanced accuracy, F1 (of the positive class; of more than two classes the mean), and where there
            are probabilities log loss, Brier score, ROC AUC, average precision and expected calibration error (10 bins)
  numbers   MAE, RMSE, R2, pinball loss of --quantile
  lists     NDCG, MRR and hit rate of the first --k candidates; a label is one candidate or a list of some

is it worth it:
  The gain over each member has a 95 % interval: 1000 paired resamples of the rows, drawn with --seed. McNemar's exact
  test compares the labels. Each member of a combiner is left out in turn, and the others are combined again without a
  call of a model. --by judges the rows of each value of a field. It marks values on which the ensemble is worse than on
  the others beyond chance (5 %, corrected for the number of values).

The label's values are compared with the first output that can be one: a label or probabilities of its classes, one
probability of the positive class, a number, a list. Rows that fail are counted and left out. The file is read in parts;
labels and answers stay in memory, about 8 bytes per row, node and class.

profile:
  --profile learns what each input is like (quantiles, categories, share of nulls) and writes it as JSON. An ensemble
  file that names it (profile: {uri: fraud.profile.json}) has its inputs compared with it while it runs. Learn it from
  the rows that the models were trained on. That loads no model, and rows need no label.

exit code: 0 the ensemble is evaluated; 1 the ensemble, the input or the label is not valid; 2 wrong usage;
130 interrupted
"""
_DONE: Final = 0
_NO_MEMORY: Final = (
    "the rows need more memory than there is; evaluate fewer rows, or fewer at once (--batch-size)"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's arguments."""
    add_file_arguments(parser)
    add = parser.add_argument
    labelled_rows.add_input(parser)
    add("--label", metavar="FIELD", help="compare the answers with this field")
    add(
        "--profile",
        metavar="PATH",
        help="also write what the inputs are like to this file (.json); without --label nothing else is done",
    )
    labelled_rows.add_answer(parser)
    add(
        "--positive",
        metavar="CLASS",
        help="count this class as positive where there are two (default: true, 1, or the last in order)",
    )
    add("--by", metavar="FIELD", help="also judge the rows of each value of this field")
    add(
        "--task", choices=("labels", "numbers", "lists"), help="say what the label is (default: by the types)"
    )
    add(
        "--k",
        metavar="N",
        type=whole_number(1),
        default=10,
        help="count so many candidates of a list (default: 10)",
    )
    add(
        "--quantile",
        metavar="Q",
        type=_quantile,
        default=0.5,
        help="take the pinball loss of this quantile, between 0 and 1 (default: 0.5)",
    )
    add(
        "--seed",
        metavar="N",
        type=whole_number(0),
        default=0,
        help="draw resamples with this seed (default: 0)",
    )
    add("--report", metavar="PAGE", help="also write the results and diagrams as one HTML page to this file")
    add("--json", action="store_true", help="print the results as a JSON object")
    labelled_rows.add_scoring(parser)


def _quantile(text: str) -> float:
    found = finite(text)
    if not 0 < found < 1:
        raise not_allowed(text, "a number between 0 and 1")
    return found


def run(args: argparse.Namespace) -> int:
    """Evaluates the file and prints what was found."""
    misuse = _misuse(args) or files_misuse(args, args.report, "page", ".html", ".htm")
    misuse = misuse or files_misuse(args, args.profile, "profile", ".json")
    return run_verb("evaluate", args, _evaluate, misuse=misuse, no_memory=_NO_MEMORY)


def _misuse(args: argparse.Namespace) -> str | None:
    """Returns in one sentence which options do not go together, if some do not."""
    if args.label is not None:
        return None
    if args.profile is None:
        return (
            "give --label FIELD to evaluate the ensemble, or --profile PATH to learn what its inputs are like"
        )
    for name in ("report", "by", "answer", "positive", "task"):
        if getattr(args, name) is not None:
            return f"--{name} needs --label FIELD; without it only the profile is written"
    return None


def _evaluate(args: argparse.Namespace) -> int:
    with progress() as show:
        profile = None if args.profile is None else _profile(args, show)
        found = None if args.label is None else _found(args, show)
    if profile is not None:
        _write(profile[1], args.profile)
    if found is None:
        return _tell_profile(args, *profile) if profile is not None else _DONE
    if args.report is not None:
        from beam_ensembles.evaluation.report import report

        _write(report(found), args.report)
    if args.json:
        print_json(found.as_data())
        return _DONE
    from beam_ensembles.cli.evaluation_summary import summary_lines

    print("\n".join(summary_lines(found)))
    for name, path in (("report", args.report), ("profile", args.profile)):
        if path is not None:
            print(f"\n{name}: {path}")
    return _DONE


def _profile(args: argparse.Namespace, show: Show) -> tuple[Profile, str]:
    """Returns what the inputs are like, and the text of its file."""
    from beam_ensembles.evaluation.profiling import learn_profile
    from beam_ensembles.graph.profile import as_text

    profile = learn_profile(_request(args), labelled_rows.telling(show))
    return profile, as_text(profile)


def _tell_profile(args: argparse.Namespace, profile: Profile, text: str) -> int:
    if args.json:
        print_json({"profile": args.profile, "rows": profile.rows, "inputs": list(profile.columns)})
    else:
        print(f"profile: {args.profile}, of {counted(profile.rows)} and {len(profile.columns):,} inputs")
    return _DONE


def _found(args: argparse.Namespace, show: Show) -> Evaluation:
    # Imports Beam: two seconds that --help and a wrong call need not wait for.
    from beam_ensembles.evaluation.evaluating import evaluate

    return evaluate(_request(args), labelled_rows.telling(show))


def _request(args: argparse.Namespace) -> Request:
    from beam_ensembles.evaluation.request import Request

    return Request(
        file=args.file,
        input=args.input,
        label=args.label or "",
        task=args.task,
        answer=args.answer,
        positive=args.positive,
        by=args.by,
        k=args.k,
        quantile=args.quantile,
        seed=args.seed,
        parameters=dict(args.parameter),
        trust=args.trust,
        batch_size=args.batch_size,
        cache=args.cache,
    )


def _write(text: str, path: str) -> None:
    from beam_ensembles.tables.whole_file import whole_file

    with naming(path), whole_file(path) as file:
        file.write(text.encode())
