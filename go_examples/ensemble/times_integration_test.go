package ensemble_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/beam-ensembles/beam-ensembles/go_examples/ensemble"
)

// stays reads and makes times, also in lists and rows and where there is none.
const stays = `
ensemble: stays
inputs:
  seen: timestamp
  gone: "timestamp?"
  times: "array<timestamp>"
  page: "row<name: string, made: timestamp>"
  level: int64
  cut: {type: timestamp, nanoseconds: truncate}
nodes:
  compare:
    apply: sql
    select:
      late: "seen >= TIMESTAMP '2026-01-01 00:00:00'"
      later: "seen + INTERVAL '1 hour'"
      after: "gone + INTERVAL '1 hour'"
      back: ARRAY_REVERSE(times)
      age: "seen - page.made < INTERVAL '1 day'"
      high: "level > 127"
      whole: "cut + INTERVAL '0 seconds'"
    outputs: {late: boolean, later: timestamp, after: "timestamp?", back: "array<timestamp>", age: boolean, high: boolean, whole: timestamp}
outputs: [late, later, after, back, age, high, whole]
`

type page struct {
	Name string    `beam:"name"`
	Made time.Time `beam:"made"`
}

type stay struct {
	ID     int         `beam:"id"`
	Seen   time.Time   `beam:"seen"`
	Left   *time.Time  `beam:"gone"`
	All    []time.Time `beam:"times"`
	Page   page        `beam:"page"`
	Cut    time.Time   `beam:"cut"`
	Unread time.Time   `beam:"unread"`
	Big    uint64      `beam:"big"`
	Level  uint8       `beam:"level"`
}

type judged struct {
	Later  time.Time   `beam:"later"`
	Unread time.Time   `beam:"unread"`
	After  *time.Time  `beam:"after"`
	ID     int         `beam:"id"`
	Late   bool        `beam:"late"`
	Young  bool        `beam:"age"`
	Back   []time.Time `beam:"back"`
	Whole  *time.Time  `beam:"whole"`
	Seen   time.Time   `beam:"seen"`
	Cut    time.Time   `beam:"cut"`
	Big    uint64      `beam:"big"`
	High   bool        `beam:"high"`
	Level  uint8       `beam:"level"`
}

func init() {
	for _, t := range []reflect.Type{
		reflect.TypeFor[stay](), reflect.TypeFor[judged](), reflect.TypeFor[ensemble.Failed[stay]](),
	} {
		beam.RegisterType(t)
	}
}

func TestIntegrationTimesCross(t *testing.T) {
	there := time.FixedZone("", 2*60*60)
	micros := time.Date(2026, 1, 1, 1, 59, 59, 123456000, there)
	nanos := time.Date(2026, 1, 2, 3, 4, 5, 123456789, there)
	late := time.Date(2026, 3, 4, 0, 0, 0, 0, time.UTC)
	rows := []stay{
		{
			ID: 1, Seen: micros, Left: &late, All: []time.Time{late, micros}, Page: page{"home", micros}, Cut: nanos,
			Unread: nanos, Big: 1 << 63, Level: 200,
		},
		{ID: 2, Seen: late, All: []time.Time{}, Cut: late},
		{ID: 3, Seen: nanos, All: []time.Time{}, Unread: nanos},
	}
	hour := late.Add(time.Hour)
	whole := nanos.Truncate(time.Microsecond).UTC()
	want := []any{
		judged{
			Later: micros.Add(time.Hour).UTC(), Unread: nanos, After: &hour, ID: 1, Young: true,
			Back: []time.Time{micros.UTC(), late}, Whole: &whole, Seen: micros, Cut: nanos, Big: 1 << 63,
			High: true, Level: 200,
		},
		judged{Later: hour, ID: 2, Late: true, Back: []time.Time{}, Whole: &late, Seen: late, Cut: late},
	}
	for _, encoding := range []ensemble.Encoding{ensemble.EncodingRows, ensemble.EncodingArrow} {
		t.Run(string(encoding), func(t *testing.T) {
			forget()
			if err := runPipeline(t, func(s beam.Scope) {
				good, bad := ensemble.RunWithErrors[judged](
					s, beam.CreateList(s, rows), ensemble.FromText(stays, ""), ensemble.WithEncoding(encoding))
				collect(s, "judged", good)
				collect(s, "refused", bad)
			}); err != nil {
				t.Fatal(err)
			}
			checkValues(t, "judged", want)
			failed := collected("refused")
			if len(failed) != 1 {
				t.Fatalf("puts %+v aside, not one row", failed)
			}
			row := failed[0].value.(ensemble.Failed[stay])
			if !reflect.DeepEqual(row.Element, rows[2]) || !strings.Contains(row.Msg, "nanoseconds: truncate") {
				t.Errorf("puts %+v aside, not %+v", row, rows[2])
			}
		})
	}
}
