package columns

import (
	"bytes"
	"encoding/binary"
	"math/rand"
	"reflect"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// TestReaderTakesAllLayoutsOfLists reads what other languages may write.
func TestReaderTakesAllLayoutsOfLists(t *testing.T) {
	type row struct {
		List []float64
		Any  []*float64
	}
	item := arrow.PrimitiveTypes.Float64
	for name, lists := range map[string]arrow.DataType{
		"list": arrow.ListOf(item), "large_list": arrow.LargeListOf(item), "fixed_size_list": arrow.FixedSizeListOf(2, item),
	} {
		batch := stream(t, 1, `[{"List": [0, 0], "Any": [0, 0]}, {"List": [1, 2], "Any": [3, null]}]`,
			arrow.Field{Name: "List", Type: lists}, arrow.Field{Name: "Any", Type: lists})
		three := 3.0
		want := []row{{[]float64{1, 2}, []*float64{&three, nil}}}
		if got := readAll(t, reflect.TypeFor[row](), batch).Interface(); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: reads %+v, not %+v", name, got, want)
		}
	}
}

func TestReaderSaysWhatIsWrong(t *testing.T) {
	text, double := arrow.BinaryTypes.String, arrow.PrimitiveTypes.Float64
	field := func(t arrow.DataType) arrow.Field { return arrow.Field{Name: "X", Type: t, Nullable: true} }
	type of[T any] struct{ X T }
	for name, c := range map[string]struct {
		row   reflect.Type
		batch []byte
		want  string
	}{
		"no stream":         {reflect.TypeFor[of[string]](), []byte("[1, 2]"), "the batch is not an Arrow stream: "},
		"nothing":           {reflect.TypeFor[of[string]](), nil, "the batch is not an Arrow stream: "},
		"no column":         {reflect.TypeFor[plainTypes](), stream(t, 0, `[{"X": 1}]`, field(double)), `column "text": it is not in the batch`},
		"text for a number": {reflect.TypeFor[of[float64]](), stream(t, 0, `[{"X": ""}]`, field(text)), `column "X": it has the Arrow type utf8, and must be float64`},
		"number for a text": {reflect.TypeFor[of[string]](), stream(t, 0, `[{"X": 1}]`, field(double)), `column "X": it has the Arrow type float64, and must be utf8`},
		"number for bytes":  {reflect.TypeFor[of[[]byte]](), stream(t, 0, `[{"X": 1}]`, field(double)), "must be binary"},
		"number for a flag": {reflect.TypeFor[of[bool]](), stream(t, 0, `[{"X": 1}]`, field(double)), "must be bool"},
		"number for a list": {reflect.TypeFor[of[[]int]](), stream(t, 0, `[{"X": 1}]`, field(double)), "must be a list"},
		"number for lists":  {reflect.TypeFor[of[[]string]](), stream(t, 0, `[{"X": 1}]`, field(double)), "must be a list"},
		"number for a map":  {reflect.TypeFor[of[map[string]int]](), stream(t, 0, `[{"X": 1}]`, field(double)), "must be a map"},
		"number for a row":  {reflect.TypeFor[of[inner]](), stream(t, 0, `[{"X": 1}]`, field(double)), "must be a struct"},
		"float for doubles": {
			reflect.TypeFor[of[[]float64]](), stream(t, 0, `[{"X": [1]}]`, field(arrow.ListOf(arrow.PrimitiveTypes.Float32))),
			`column "X": it has the Arrow type float32, and must be float64`,
		},
		"null number": {reflect.TypeFor[of[float64]](), stream(t, 0, `[{"X": null}]`, field(double)), `column "X": it holds null`},
		"null item": {
			reflect.TypeFor[of[[]float64]](), stream(t, 0, `[{"X": [null]}]`, field(arrow.ListOf(double))),
			`column "X": it holds null`,
		},
		"null in a row": {
			reflect.TypeFor[of[of[bool]]](), stream(t, 0, `[{"X": {}}]`, field(arrow.StructOf(field(arrow.FixedWidthTypes.Boolean)))),
			`column "X.X": it holds null`,
		},
		"wrong length": {
			reflect.TypeFor[of[[2]float64]](), stream(t, 0, `[{"X": [1]}]`, field(arrow.ListOf(double))),
			`column "X": it holds a list of 1 values, and its Go type has 2`,
		},
		"two batches": {reflect.TypeFor[of[float64]](), twoBatches(t), "the stream holds more than one record batch"},
	} {
		err := tryRead(c.row, c.batch)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: says %v, not %q", name, err, c.want)
		}
	}
}

// TestReaderTakesDamagedBatches makes sure that no damage does more than give
// an error or other rows.
func TestReaderTakesDamagedBatches(t *testing.T) {
	var rows []listTypes
	for i := range 20 {
		rows = append(rows, listTypes{
			List: make([]float64, i%3), Labels: []label{"a", "b"}, Blobs: [][]byte{{1}},
			Rows: []inner{{Name: "n", Deep: &deepest{map[int32][]bool{1: {true}}}}},
		})
	}
	batch := writeAll(t, reflect.ValueOf(rows))
	for length := range len(batch) - 8 { // What is after are the marks of the end.
		if err := tryRead(reflect.TypeFor[listTypes](), batch[:length]); err == nil {
			t.Fatalf("reads the first %d bytes of %d", length, len(batch))
		}
	}
	for at := 0; at < len(batch)-16; at += 4 { // Some of these are lengths.
		for _, length := range []uint64{1 << 46, 1<<31 - 1} {
			damaged := bytes.Clone(batch)
			binary.LittleEndian.PutUint64(damaged[at:], length)
			_ = tryRead(reflect.TypeFor[listTypes](), damaged)
		}
	}
	random, refused := rand.New(rand.NewSource(1)), 0
	for range 2000 {
		damaged := bytes.Clone(batch)
		for range 1 + random.Intn(4) {
			damaged[random.Intn(len(damaged)-8)] = byte(random.Intn(256))
		}
		if tryRead(reflect.TypeFor[listTypes](), damaged) != nil {
			refused++
		}
	}
	if refused == 0 {
		t.Error("no damage is found")
	}
}

func tryRead(row reflect.Type, batch []byte) error {
	reader, err := NewReader(Of(reflect.New(row).Elem()))
	if err != nil {
		return err
	}
	rows, err := reader.Open(batch)
	for i := 0; err == nil && i < rows; i++ {
		err = reader.Read(i)
	}
	return err
}

// stream writes rows, but for the first ones, as another program would.
func stream(t *testing.T, from int64, rows string, fields ...arrow.Field) []byte {
	t.Helper()
	record := recordOf(t, rows, fields...)
	return written(t, record.NewSlice(from, record.NumRows()))
}

func twoBatches(t *testing.T) []byte {
	t.Helper()
	record := recordOf(t, `[{"X": 1}]`, arrow.Field{Name: "X", Type: arrow.PrimitiveTypes.Float64})
	return written(t, record, record)
}

func recordOf(t *testing.T, rows string, fields ...arrow.Field) arrow.RecordBatch {
	t.Helper()
	record, _, err := array.RecordFromJSON(memory.DefaultAllocator, arrow.NewSchema(fields, nil), strings.NewReader(rows))
	if err != nil {
		t.Fatal(err)
	}
	return record
}

func written(t *testing.T, records ...arrow.RecordBatch) []byte {
	t.Helper()
	var out bytes.Buffer
	writer := ipc.NewWriter(&out, ipc.WithSchema(records[0].Schema()))
	for _, record := range records {
		if err := writer.Write(record); err != nil {
			t.Fatal(err)
		}
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
