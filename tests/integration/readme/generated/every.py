"""Scores rows of the generated types, and prints them as JSON lines."""

import json

import apache_beam as beam
from apache_beam.utils.timestamp import Timestamp
from every_type_rows import (
    EveryTypeFailed,
    EveryTypeInput,
    EveryTypeNamedPlacesRow,
    EveryTypeNoPlaceRow,
    EveryTypePlaceRow,
    EveryTypePlacesRow,
    EveryTypePlaceStreetRow,
    EveryTypeScored,
    EveryTypeVisitsRow,
    RunEveryType,
    RunEveryTypeWithErrors,
)

NAMES = "no_text no_raw no_flag no_small no_big no_single no_number no_seen no_numbers no_counts no_place"
SEEN = Timestamp.from_rfc3339("2026-01-01T00:00:00.123Z")
FIRST = EveryTypeInput(
    id=1,
    class_="a",
    my_count=7,
    raw=b"12",
    flag=True,
    small=3,
    single=0.5,
    number=2.0,
    seen=SEEN,
    numbers=[1.0],
    tensor=[1.0, 2.0, 3.0, 4.0],
    counts={"a": 1},
    place=EveryTypePlaceRow(1.5, EveryTypePlaceStreetRow("s", None)),
    places=[EveryTypePlacesRow(1.0, ["t"])],
    visits=[EveryTypeVisitsRow("a", SEEN), EveryTypeVisitsRow("b", None)],
    named_places={"k": EveryTypeNamedPlacesRow(2.0)},
    names=["cat"],
    scores=[0.5],
    **dict.fromkeys(NAMES.split()),
)
SECOND = FIRST._replace(
    id=2,
    number=0.5,
    place=EveryTypePlaceRow(1.5, EveryTypePlaceStreetRow("s", 5)),
    no_text="b",
    no_raw=b"1",
    no_flag=True,
    no_small=3,
    no_big=4,
    no_single=0.5,
    no_number=1.5,
    no_seen=SEEN,
    no_numbers=[2.5],
    no_counts={"c": 6},
    no_place=EveryTypeNoPlaceRow(9.0),
)
THIRD = FIRST._replace(id=3, scores=[1.0, 2.0])


def millis(at: Timestamp | None) -> int | None:
    return None if at is None else at.micros // 1_000


def line(row: EveryTypeScored) -> str:
    raw, place = row.no_raw, row.no_place
    found = {
        "id": row.id,
        "class": row.class_,
        "count": row.my_count,
        "raw": len(row.raw),
        "counts": dict(row.counts),
        "street": row.place.street.name,
        "number": row.place.street.number,
        "tags": list(row.places[0].tags),
        "named": row.named_places["k"].lat,
        "nullable": [
            *(row.no_text, None if raw is None else len(raw), row.no_flag, row.no_small, row.no_big),
            *(
                row.no_single,
                row.no_number,
                row.no_numbers,
                row.no_counts,
                None if place is None else place.lat,
                millis(row.no_seen),
            ),
        ],
        "label": row.found[0].label,
        "soft": row.soft,
        "rare": None if row.rare is None else row.rare[0].score,
        "total": row.total,
        "more": row.more,
        "seen": millis(row.seen),
        "visits": [millis(visit.at) for visit in row.visits],
        "later": millis(row.later),
    }
    return json.dumps(found)


def failed_line(failed: EveryTypeFailed) -> str:
    row = failed.element
    return json.dumps(
        {"id": row.id, "failed": failed.code, "class": row.class_, "tags": list(row.places[0].tags)}
    )


if __name__ == "__main__":
    with beam.Pipeline() as pipeline:
        rows = pipeline | beam.Create([FIRST, SECOND, THIRD])
        scored, failed = rows | RunEveryTypeWithErrors("every.yaml")
        _ = scored | beam.Reshuffle() | beam.Map(line) | "PrintScored" >> beam.Map(print)
        _ = failed | "Again" >> beam.Reshuffle() | beam.Map(failed_line) | "PrintFailed" >> beam.Map(print)
        again = pipeline | "First" >> beam.Create([FIRST]) | RunEveryType("every.yaml")
        _ = again | "Check" >> beam.Map(lambda row: isinstance(row, EveryTypeScored) or 1 / 0)
