package ensemble

import (
	"bytes"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/coder"
)

type label string

// everything has a field of every type that crosses as it is.
type everything struct {
	Text     string            `beam:"text"`
	Label    label             `beam:"label"`
	Bytes    []byte            `beam:"bytes"`
	Flag     bool              `beam:"flag"`
	Int8     int8              `beam:"int8"`
	Int16    int16             `beam:"int16"`
	Int32    int32             `beam:"int32"`
	Int64    int64             `beam:"int64"`
	Int      int               `beam:"int"`
	Uint8    uint8             `beam:"uint8"`
	Uint16   uint16            `beam:"uint16"`
	Uint32   uint32            `beam:"uint32"`
	Float    float32           `beam:"float"`
	Double   float64           `beam:"double"`
	Array    [2]int16          `beam:"array"`
	List     []float64         `beam:"list"`
	Counts   map[string]int    `beam:"counts"`
	Nested   nested            `beam:"nested"`
	Optional *float64          `beam:"optional"`
	Lists    [][]string        `beam:"lists"`
	Maybes   []*int64          `beam:"maybes"`
	Rows     map[string]nested `beam:"rows"`
	At       time.Time         `beam:"at"`
	Times    []*time.Time      `beam:"times"`
	NoTag    int64
}

type nested struct {
	Name string  `beam:"name"`
	Tags []label `beam:"tags"`
}

func TestWireSchemaSaysWhatGoWrites(t *testing.T) {
	want := []any{
		"text: string", "label: string", "bytes: bytes?", "flag: boolean", "int8: int32", "int16: int32", "int32: int32",
		"int64: int64", "int: int64", "uint8: uint8 of byte", "uint16: int32", "uint32: int64", "float: float", "double: double",
		"array: array<int32>", "list: array<double>?", "counts: map<string,int64>?",
		"nested: row<name: string, tags: array<string>?>", "optional: double?", "lists: array<array<string>>?",
		"maybes: array<int64?>?", "rows: map<string,row<name: string, tags: array<string>?>>?", "at: time.Time of row<EncodedBeamData: string>",
		"times: array<time.Time of row<EncodedBeamData: string>?>?", "NoTag: int64",
	}
	serialized, err := marshalSchema(reflect.TypeFor[everything]())
	if err != nil {
		t.Fatal(err)
	}
	if got := describeSchema(t, serialized); !reflect.DeepEqual(got, want) {
		t.Errorf("describes\n%v\nnot\n%v", got, want)
	}
}

// TestWireSchemaFitsBeamsCoder decodes what Beam's coder writes for a struct
// by the types that its wire schema names.
func TestWireSchemaFitsBeamsCoder(t *testing.T) {
	type narrow struct {
		A int8
		B int16
		C uint16
		D uint32
		E int
		F label
	}
	type wide struct {
		A, B, C int32
		D, E    int64
		F       string
	}
	encode, err := coder.RowEncoderForStruct(reflect.TypeFor[narrow]())
	if err != nil {
		t.Fatal(err)
	}
	decode, err := coder.RowDecoderForStruct(reflect.TypeFor[wide]())
	if err != nil {
		t.Fatal(err)
	}
	var written bytes.Buffer
	if err := encode(narrow{-128, -32768, 65535, 4294967295, -1 << 62, "seven"}, &written); err != nil {
		t.Fatal(err)
	}
	got, err := decode(&written)
	if want := (wide{-128, -32768, 65535, 4294967295, -1 << 62, "seven"}); err != nil || got != want {
		t.Errorf("decodes %v (%v), not %v", got, err, want)
	}
}

func TestWireTypeRefusesWhatOthersCannotRead(t *testing.T) {
	type hidden struct{ secret int64 }
	type stamp time.Time // Beam knows nothing of it.
	_ = hidden{}.secret
	for _, opaque := range []reflect.Type{
		reflect.TypeFor[map[uint8]string](), reflect.TypeFor[uint](), reflect.TypeFor[uint64](), reflect.TypeFor[map[time.Time]string](),
		reflect.TypeFor[[4]byte](), reflect.TypeFor[map[point]string](), reflect.TypeFor[map[*string]string](),
		reflect.TypeFor[**string](), reflect.TypeFor[stamp](), reflect.TypeFor[[]uint64](), reflect.TypeFor[hidden](),
		reflect.TypeFor[time.Duration](), reflect.TypeFor[*time.Duration](), reflect.TypeFor[map[string]time.Duration](),
	} {
		if wire, err := wireType(opaque); !errors.Is(err, errOpaque) {
			t.Errorf("%v crosses as %v (%v)", opaque, describeType(wire), err)
		}
	}
}
