package columns

import (
	"bytes"
	"math"
	"math/rand"
	"reflect"
	"strings"
	"testing"
	"testing/quick"
	"time"

	_ "github.com/apache/beam/sdks/v2/go/pkg/beam" // It has the coder of times.
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/coder"
)

type label string

type inner struct {
	Name string   `beam:"name"`
	Tags []label  `beam:"tags"`
	Deep *deepest `beam:"deep"`
}

type deepest struct{ Counts map[int32][]bool }

// Embedded has to be exported: Beam carries no other fields.
type Embedded struct {
	Note string `beam:"note"`
}

type plainTypes struct {
	Text   string  `beam:"text"`
	Label  label   `beam:"label"`
	Bytes  []byte  `beam:"bytes"`
	Flag   bool    `beam:"flag"`
	Int8   int8    `beam:"int8"`
	Int16  int16   `beam:"int16"`
	Int32  int32   `beam:"int32"`
	Int64  int64   `beam:"int64"`
	Int    int     `beam:"int"`
	Uint8  uint8   `beam:"uint8"`
	Uint16 uint16  `beam:"uint16"`
	Uint32 uint32  `beam:"uint32"`
	Float  float32 `beam:"float"`
	Double float64
}

type listTypes struct {
	Doubles [2]float64
	Texts   [3]string
	List    []float64
	Shorts  []int16
	Labels  []label
	Lists   [][]string
	Blobs   [][]byte
	Maybes  []*int64
	Rows    []inner
}

type nestedTypes struct {
	Embedded
	Row      inner
	Counts   map[string]int
	Flags    map[bool]float32
	Rows     map[label]inner
	Optional *float64
	Text     *string
	List     *[]int64
	OptRow   *inner
	Empty    struct{}
}

type timeTypes struct {
	At     time.Time
	Maybe  *time.Time
	List   []time.Time
	Maybes []*time.Time
	ByName map[string]time.Time
	Row    struct{ At time.Time }
}

// TestRowsComeBack makes sure that rows come out of a batch as they come out
// of Beam's own coder.
func TestRowsComeBack(t *testing.T) {
	half, text, list := 0.5, "", []int64{1, -1}
	clock := time.Date(2026, 2, 3, 4, 5, 6, 123456789, time.FixedZone("", 5400))
	for name, rows := range map[string]any{
		"plain": []plainTypes{
			{},
			{
				"é", "x", []byte{0, 255}, true, math.MinInt8, math.MinInt16, math.MinInt32, math.MinInt64,
				math.MinInt, math.MaxUint8, math.MaxUint16, math.MaxUint32, math.MaxFloat32, math.SmallestNonzeroFloat64,
			},
			{Bytes: []byte{}, Double: math.Inf(-1)},
		},
		"lists": []listTypes{
			{},
			{
				Doubles: [2]float64{1, 2}, Texts: [3]string{"a", "", "c"}, List: []float64{3}, Shorts: []int16{-1, 2},
				Labels: []label{"l", ""}, Lists: [][]string{{"a"}, {}, {"b", "c"}}, Blobs: [][]byte{{1}, {}},
				Maybes: []*int64{nil, new(int64)}, Rows: []inner{{Name: "n"}, {Tags: []label{}}},
			},
			{List: []float64{}, Lists: [][]string{}, Rows: []inner{}},
		},
		"nested": []nestedTypes{
			{},
			{
				Embedded: Embedded{"note"}, Row: inner{"n", []label{"t"}, &deepest{map[int32][]bool{1: {true, false}, 2: {}}}},
				Counts: map[string]int{"a": 1, "b": -1}, Flags: map[bool]float32{true: 2},
				Rows: map[label]inner{"k": {Name: "v"}}, Optional: &half, Text: &text, List: &list, OptRow: &inner{Name: "o"},
			},
			{Counts: map[string]int{}, Row: inner{Deep: &deepest{}}},
		},
		"times": []timeTypes{
			{},
			{
				At: clock, Maybe: &clock, List: []time.Time{clock.UTC(), {}}, Maybes: []*time.Time{nil, &clock},
				ByName: map[string]time.Time{"a": clock}, Row: struct{ At time.Time }{clock},
			},
			{At: time.Unix(1<<37, 1).UTC(), List: []time.Time{}},
		},
	} {
		t.Run(name, func(t *testing.T) { checkRoundTrip(t, reflect.ValueOf(rows)) })
	}
}

// TestRandomRowsComeBack does the same for random rows of random types.
func TestRandomRowsComeBack(t *testing.T) {
	for seed := range int64(300) {
		random := rand.New(rand.NewSource(seed))
		row := randomStruct(random, 3)
		rows := reflect.MakeSlice(reflect.SliceOf(row), 0, 20)
		for range random.Intn(20) {
			value, ok := quick.Value(row, random)
			if !ok {
				t.Fatalf("no random values of %v", row)
			}
			rows = reflect.Append(rows, value)
		}
		if checkRoundTrip(t, rows); t.Failed() {
			t.Fatalf("seed %d: %v", seed, row)
		}
	}
}

func randomStruct(random *rand.Rand, depth int) reflect.Type {
	fields := make([]reflect.StructField, 1+random.Intn(5))
	for i := range fields {
		fields[i] = reflect.StructField{Name: string(rune('A' + i)), Type: randomType(random, depth)}
	}
	return reflect.StructOf(fields)
}

var plainKinds = []reflect.Type{
	reflect.TypeFor[string](), reflect.TypeFor[bool](), reflect.TypeFor[int16](), reflect.TypeFor[int32](),
	reflect.TypeFor[int64](), reflect.TypeFor[float32](), reflect.TypeFor[float64](), reflect.TypeFor[label](),
}

func randomType(random *rand.Rand, depth int) reflect.Type {
	plain := plainKinds[random.Intn(len(plainKinds))]
	if depth == 0 {
		return plain
	}
	switch random.Intn(8) {
	case 0:
		return reflect.SliceOf(randomType(random, depth-1))
	case 1:
		return reflect.MapOf(plain, randomType(random, depth-1))
	case 2:
		return randomStruct(random, depth-1)
	case 3:
		if t := randomType(random, depth-1); t.Kind() != reflect.Pointer {
			return reflect.PointerTo(t)
		}
	case 4:
		return reflect.TypeFor[[]byte]()
	case 5:
		return reflect.ArrayOf(random.Intn(4), plain)
	}
	return plain
}

func checkRoundTrip(t *testing.T, rows reflect.Value) {
	t.Helper()
	got := readAll(t, rows.Type().Elem(), writeAll(t, rows))
	want := reflect.MakeSlice(rows.Type(), rows.Len(), rows.Len())
	for i := range rows.Len() {
		want.Index(i).Set(throughBeamsCoder(t, rows.Index(i)))
	}
	if !reflect.DeepEqual(got.Interface(), want.Interface()) {
		t.Errorf("gives\n%+v\nback as\n%+v\nand Beam's coder as\n%+v", rows, got, want)
	}
}

func throughBeamsCoder(t *testing.T, row reflect.Value) reflect.Value {
	t.Helper()
	encode, err := coder.RowEncoderForStruct(row.Type())
	if err != nil {
		t.Fatal(err)
	}
	decode, err := coder.RowDecoderForStruct(row.Type())
	if err != nil {
		t.Fatal(err)
	}
	var encoded bytes.Buffer
	if err := encode(row.Interface(), &encoded); err != nil {
		t.Fatal(err)
	}
	decoded, err := decode(&encoded)
	if err != nil {
		t.Fatal(err)
	}
	return reflect.ValueOf(decoded)
}

// writeAll makes one batch of a slice of rows.
func writeAll(t *testing.T, rows reflect.Value) []byte {
	t.Helper()
	row := reflect.New(rows.Type().Elem()).Elem()
	writer, err := NewWriter(Of(row))
	if err != nil {
		t.Fatal(err)
	}
	for i := range rows.Len() {
		row.Set(rows.Index(i))
		writer.Add()
	}
	batch, err := writer.Batch(writer.Rows())
	if err != nil {
		t.Fatal(err)
	}
	return batch
}

func readAll(t *testing.T, row reflect.Type, batch []byte) reflect.Value {
	t.Helper()
	at := reflect.New(row).Elem()
	reader, err := NewReader(Of(at))
	if err != nil {
		t.Fatal(err)
	}
	count, err := reader.Open(batch)
	if err != nil {
		t.Fatal(err)
	}
	rows := reflect.MakeSlice(reflect.SliceOf(row), 0, count)
	for i := range count {
		if err := reader.Read(i); err != nil {
			t.Fatal(err)
		}
		rows = reflect.Append(rows, at)
	}
	return rows
}

func TestWriterIsUsedAgain(t *testing.T) {
	row := reflect.New(reflect.TypeFor[nestedTypes]()).Elem()
	writer, err := NewWriter(Of(row))
	if err != nil {
		t.Fatal(err)
	}
	var batches [][]byte
	for _, name := range []string{"first", "second"} {
		row.Set(reflect.ValueOf(nestedTypes{Row: inner{Name: name}, Optional: new(float64)}))
		writer.Add()
		row.Set(reflect.ValueOf(nestedTypes{Row: inner{Name: "left out"}, Counts: map[string]int{"x": 1}}))
		writer.Add()
		batch, err := writer.Batch(1)
		if err != nil || writer.Rows() != 0 || writer.Bytes() != 0 {
			t.Fatalf("keeps %d rows of %d bytes (%v)", writer.Rows(), writer.Bytes(), err)
		}
		batches = append(batches, batch)
	}
	for i, want := range []string{"first", "second"} {
		got := readAll(t, row.Type(), batches[i]).Interface().([]nestedTypes)
		if len(got) != 1 || got[0].Row.Name != want || got[0].Optional == nil {
			t.Errorf("batch %d holds %+v", i, got)
		}
	}
}

func TestReaderFindsColumnsByTheirNames(t *testing.T) {
	type few struct {
		Double float64
		Text   string `beam:"text"`
	}
	batch := writeAll(t, reflect.ValueOf([]plainTypes{{Text: "a", Double: 1}, {Text: "b", Double: 2}}))
	got := readAll(t, reflect.TypeFor[few](), batch).Interface()
	if want := []few{{1, "a"}, {2, "b"}}; !reflect.DeepEqual(got, want) {
		t.Errorf("reads %v, not %v", got, want)
	}
}

func TestListsOfRowsShareNothing(t *testing.T) {
	type row struct{ List []float64 }
	batch := writeAll(t, reflect.ValueOf([]row{{[]float64{1}}, {[]float64{2}}}))
	rows := readAll(t, reflect.TypeFor[row](), batch).Interface().([]row)
	_ = append(rows[0].List, 3)
	if rows[1].List[0] != 2 {
		t.Errorf("appending to a row's list changes the next row to %v", rows[1])
	}
}

func TestTypesWithoutColumns(t *testing.T) {
	type row struct{ Any []any }
	_, err := NewWriter(Of(reflect.New(reflect.TypeFor[row]()).Elem()))
	if err == nil || !strings.Contains(err.Error(), "interface {}") {
		t.Errorf("a writer of interfaces says %v", err)
	}
	_, err = NewReader(Of(reflect.New(reflect.TypeFor[row]()).Elem()))
	if err == nil || !strings.Contains(err.Error(), "interface {}") {
		t.Errorf("a reader of interfaces says %v", err)
	}
}
