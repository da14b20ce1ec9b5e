package ensemble

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/mtime"
)

// sheet is a row whose size differs.
type sheet struct {
	ID   int64  `beam:"id"`
	Text string `beam:"text"`
}

func init() {
	beam.RegisterType(reflect.TypeFor[sheet]())
	beam.RegisterType(reflect.TypeFor[Failed[sheet]]())
}

// emitted are the batches that a batcher gives, and their times.
type emitted struct {
	times   []beam.EventTime
	batches [][]byte
}

func (e *emitted) emit(time beam.EventTime, batch []byte) {
	e.times = append(e.times, time)
	e.batches = append(e.batches, batch)
}

// batched packs keyed rows at times that fall.
func batched(t *testing.T, c carriage, maxRows, maxBytes int, rows ...any) emitted {
	t.Helper()
	b, err := newBatcher(c)
	if err != nil {
		t.Fatal(err)
	}
	b.maxRows, b.maxBytes = maxRows, maxBytes
	var all emitted
	for i, row := range rows {
		if err := b.add(beam.EventTime(len(rows)-i), fmt.Sprint(i), row, all.emit); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.flush(all.emit); err != nil {
		t.Fatal(err)
	}
	return all
}

// unbatched gives the rows of a batch, after their times and keys.
func unbatched(t *testing.T, c carriage, batch []byte) [][3]any {
	t.Helper()
	u, err := newUnbatcher(c)
	if err != nil {
		t.Fatal(err)
	}
	count, err := u.open(batch)
	if err != nil {
		t.Fatal(err)
	}
	rows := make([][3]any, count)
	for i := range rows {
		time, key, row, err := u.read(i)
		if err != nil {
			t.Fatal(err)
		}
		rows[i] = [3]any{time, key, row}
	}
	return rows
}

func TestBatcherEndsBatchesAtItsLimits(t *testing.T) {
	page := func(id int64, length int) any { return sheet{id, strings.Repeat("x", length)} }
	const perRow = 8 + 4 + 8 // The id, the end of the text, and the time.
	for name, c := range map[string]struct {
		maxRows, maxBytes int
		rows              []any
		want              []string
	}{
		"nothing":         {2, 100, nil, nil},
		"by rows":         {2, 1000, []any{page(0, 1), page(1, 1), page(2, 1)}, []string{"2: 0 1", "1: 2"}},
		"by bytes":        {9, 2 * perRow, []any{page(0, 0), page(1, 0), page(2, 0)}, []string{"2: 0 1", "1: 2"}},
		"not over bytes":  {9, 2*perRow + 5, []any{page(0, 0), page(1, 6), page(2, 5)}, []string{"3: 0", "2: 1", "1: 2"}},
		"larger row":      {9, 100, []any{page(0, 0), page(1, 200), page(2, 0), page(3, 0)}, []string{"4: 0", "3: 1", "1: 2 3"}},
		"only larger row": {9, 100, []any{page(0, 200)}, []string{"1: 0"}},
	} {
		there := carriage{Row: beam.EncodedType{T: reflect.TypeFor[sheet]()}}
		all := batched(t, there, c.maxRows, c.maxBytes, c.rows...)
		var got []string
		for i, batch := range all.batches {
			line := fmt.Sprintf("%d:", all.times[i])
			for _, row := range unbatched(t, there.back(reflect.TypeFor[sheet](), false), batch) {
				line += fmt.Sprintf(" %d", row[2].(sheet).ID)
			}
			got = append(got, line)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: gives the batches (oldest time: rows) %q, not %q", name, got, c.want)
		}
	}
}

func TestBatcherForgetsABundleThatFailed(t *testing.T) {
	b, err := newBatcher(carriage{Row: beam.EncodedType{T: reflect.TypeFor[sheet]()}})
	if err != nil {
		t.Fatal(err)
	}
	var all emitted
	for _, time := range []beam.EventTime{1, 5} {
		b.clear()
		if err := b.add(time, nil, sheet{}, all.emit); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.flush(all.emit); err != nil || !slices.Equal(all.times, []beam.EventTime{5}) {
		t.Errorf("emits batches of the times %v (%v), not only that of 5", all.times, err)
	}
}

func TestBatchesGiveRowsKeysAndTimesBack(t *testing.T) {
	there := carriage{Row: beam.EncodedType{T: photoType}, Key: &beam.EncodedType{T: reflect.TypeFor[string]()}}
	all := batched(t, there, 2, 1<<20, someday, &photo{X: 3})
	got := unbatched(t, there.back(photoType, false), all.batches[0])
	want := [][3]any{{beam.EventTime(2), "0", someday}, {beam.EventTime(1), "1", photo{X: 3}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("gives %v back, not %v", got, want)
	}
}

func TestBatchesGiveFailedRowsBack(t *testing.T) {
	for name, c := range map[string]struct{ row, failed, want any }{
		"plain":   {sheet{7, "x"}, Failed[sheet]{}, Failed[sheet]{Element: sheet{7, "x"}, Node: "mean"}},
		"opaque":  {someday, Failed[photo]{}, Failed[photo]{Element: someday, Node: "mean"}},
		"pointer": {&someday, Failed[*photo]{}, Failed[*photo]{Element: &someday, Node: "mean"}},
	} {
		there := newCarriage(structOf(reflect.TypeOf(c.row)), nil)
		back := there.back(reflect.TypeOf(c.failed), true)
		got := unbatched(t, back, failedBatch(t, *there, back, c.row))
		if len(got) != 2 || !reflect.DeepEqual(got[0][2], c.want) || !reflect.DeepEqual(got[1][2], c.want) {
			t.Errorf("%s: gives %+v back, not twice %+v", name, got, c.want)
		}
	}
}

// failedBatch is what the service makes of two rows that fail. A row that
// fails is the row of a Failed as the batches see it.
func failedBatch(t *testing.T, there, back carriage, row any) []byte {
	t.Helper()
	shape, err := shapeOf(there.Row.T)
	if err != nil {
		t.Fatal(err)
	}
	wire := failedWire(back.Target.T, shape.arrowType(there.packs(shape)))
	failed := reflect.New(wire).Elem()
	element := failed.Field(0)
	move(placements(there.Row.T, element.Type()), reflect.Indirect(reflect.ValueOf(row)), element)
	if there.packs(shape) {
		p, err := newOpaquePacker(there)
		if err != nil {
			t.Fatal(err)
		}
		packed, err := p.pack(nil, reflect.Indirect(reflect.ValueOf(row)))
		if err != nil {
			t.Fatal(err)
		}
		element.FieldByName("Opaque__").SetBytes(packed)
	}
	failed.FieldByName("Node").SetString("mean")
	return batched(t, carriage{Row: beam.EncodedType{T: wire}}, 10, 1<<20, failed.Interface(), failed.Interface()).batches[0]
}

func TestBatchesKeepAllOfBeamsTimes(t *testing.T) {
	for _, time := range []beam.EventTime{mtime.MinTimestamp, -1, 0, 1, mtime.EndOfGlobalWindowTime, mtime.MaxTimestamp} {
		if got := eventTime(micros(time)); got != time {
			t.Errorf("the time %d comes back as %d", time, got)
		}
	}
	if got := eventTime(-1); got != -1 {
		t.Errorf("a microsecond before 1970 is at %d milliseconds", got)
	}
}

func TestBatchesSayWhatIsWrongWithThem(t *testing.T) {
	there := carriage{Row: beam.EncodedType{T: reflect.TypeFor[sheet]()}}
	u, err := newUnbatcher(there.back(reflect.TypeFor[average](), false))
	if err != nil {
		t.Fatal(err)
	}
	for want, batch := range map[string][]byte{
		`ensemble: reading what the service gives: column "x": it is not in the batch`:            batched(t, there, 9, 99, sheet{}).batches[0],
		"ensemble: reading what the service gives: the batch is not an Arrow stream: arrow/ipc: ": []byte("x"),
	} {
		if _, err := u.open(batch); err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("says %v, not %q", err, want)
		}
	}
	b, err := newBatcher(there)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.add(0, nil, (*sheet)(nil), nil); err == nil || err.Error() != "ensemble: a row is a nil *ensemble.sheet" {
		t.Errorf("a nil row gives %v", err)
	}
}

func TestBatchFnsAreTheSameInAWorker(t *testing.T) {
	there := newCarriage(photoType, reflect.TypeFor[int64]())
	text, err := json.Marshal(&batchKeyedFn{Carriage: *there})
	if err != nil {
		t.Fatal(err)
	}
	var inWorker batchKeyedFn
	if err := json.Unmarshal(text, &inWorker); err != nil {
		t.Fatal(err)
	}
	if err := inWorker.Setup(); err != nil {
		t.Fatal(err)
	}
	inWorker.StartBundle(nil)
	var all emitted
	at := mtime.FromTime(time.Unix(9, 0))
	if err := inWorker.ProcessElement(at, int64(5), someday, all.emit); err != nil {
		t.Fatal(err)
	}
	if err := inWorker.FinishBundle(all.emit); err != nil || len(all.batches) != 1 {
		t.Fatalf("emits %d batches (%v)", len(all.batches), err)
	}
	unbatch := unbatchKeyedFn{Carriage: there.back(photoType, false)}
	if err := unbatch.Setup(); err != nil {
		t.Fatal(err)
	}
	var got []any
	err = unbatch.ProcessElement(all.batches[0], func(t beam.EventTime, key beam.Y, row beam.Z) { got = append(got, t, key, row) })
	if want := []any{at, int64(5), someday}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("gives %v (%v), not %v", got, err, want)
	}
}
