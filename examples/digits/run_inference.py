"""Names handwritten digits with Beam's own RunInference: the ensemble is a ModelHandler, with keys and without.

    python examples/digits/run_inference.py --input build/demo/heldout.jsonl --output build/demo/inferred.jsonl

RunEnsemble keeps a row's fields and its event time; RunInference gives a PredictionResult with the example as it was.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import apache_beam as beam
from apache_beam.ml.inference.base import KeyedModelHandler, PredictionResult, RunInference
from apache_beam.options.pipeline_options import PipelineOptions

from beam_ensembles import EnsembleModelHandler, InferenceError

ENSEMBLE = Path(__file__).resolve().parent / "digits.yaml"


def read_image(line: str) -> tuple[int, dict[str, Any]]:
    """Reads one line of the input: the key, and the columns that the ensemble reads."""
    image = json.loads(line)
    return image["id"], {"pixels": image["pixels"]}


def write_result(result: tuple[int, PredictionResult]) -> str:
    """Writes one line of the output; a row that could not be scored has an error in the place of the answer."""
    id_, prediction = result
    answer: Any = prediction.inference
    if isinstance(answer, InferenceError):
        return json.dumps({"id": id_, "error": answer.code})
    return json.dumps({"id": id_, "label": answer.label, "confidence": answer.confidence})


def label(prediction: PredictionResult) -> str:
    """Returns the digit that an image shows, or the code of the error."""
    answer: Any = prediction.inference
    return str(answer.code if isinstance(answer, InferenceError) else answer.label)


def write_count(count: tuple[str, int]) -> str:
    """Writes one line of the counts."""
    return json.dumps({"label": count[0], "images": count[1]})


def main(argv: Sequence[str] | None = None) -> None:
    """Runs the pipeline."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--input", required=True, help="JSON lines with id and pixels")
    parser.add_argument("--output", required=True, help="file to write, JSON lines too")
    parser.add_argument(
        "--counts", help="file for how many images show each digit; they go without keys then"
    )
    parser.add_argument("--ensemble", default=str(ENSEMBLE), help="ensemble file (%(default)s)")
    flags, runner_flags = parser.parse_known_args(argv)
    handler = EnsembleModelHandler(flags.ensemble)
    with beam.Pipeline(options=PipelineOptions(runner_flags)) as pipeline:
        images = pipeline | "Read" >> beam.io.ReadFromText(flags.input) | "Image" >> beam.Map(read_image)
        _ = (
            images
            | "Keyed" >> RunInference(KeyedModelHandler(handler))
            | "Line" >> beam.Map(write_result)
            | "Write" >> beam.io.WriteToText(flags.output, num_shards=1, shard_name_template="")
        )
        if flags.counts:
            _ = (
                images
                | "Without key" >> beam.Values()
                | "Plain" >> RunInference(handler)
                | "Label" >> beam.Map(label)
                | "Count" >> beam.combiners.Count.PerElement()
                | "Count's line" >> beam.Map(write_count)
                | "Write counts" >> beam.io.WriteToText(flags.counts, num_shards=1, shard_name_template="")
            )


if __name__ == "__main__":
    main()
