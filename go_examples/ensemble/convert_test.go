package ensemble

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
)

var (
	taken     = uint64(1 << 63)
	someday   = photo{X: 2, Taken: taken}
	photoType = reflect.TypeFor[photo]()
)

func TestCarriageGivesRowsAndKeysBack(t *testing.T) {
	there := carriage{Row: beam.EncodedType{T: photoType}, Key: &beam.EncodedType{T: reflect.TypeFor[string]()}}
	columns := packed(t, there, "key", someday)

	key, scored := unpacked(t, there.back(reflect.TypeFor[scoredPhoto](), false), answered(t, there, columns, 7))
	if want := (scoredPhoto{Taken: taken, Average: 7}); key != "key" || !reflect.DeepEqual(scored, want) {
		t.Errorf("gives %v and %v back, not %v", key, scored, want)
	}

	_, failed := unpacked(t, there.back(reflect.TypeFor[Failed[photo]](), true), failedColumns(t, there, columns))
	if want := (Failed[photo]{Element: someday, Node: "mean"}); !reflect.DeepEqual(failed, want) {
		t.Errorf("gives %v back, not %v", failed, want)
	}
}

func TestCarriageTakesPointersToRows(t *testing.T) {
	there := carriage{Row: beam.EncodedType{T: photoType}}
	columns := packed(t, there, nil, &someday)
	_, failed := unpacked(t, there.back(reflect.TypeFor[Failed[*photo]](), true), failedColumns(t, there, columns))
	if got := failed.(Failed[*photo]).Element; *got != someday {
		t.Errorf("gives %v back, not %v", *got, someday)
	}
}

func TestCarriageIsTheSameInAWorker(t *testing.T) {
	there := carriage{Row: beam.EncodedType{T: photoType}, Key: &beam.EncodedType{T: reflect.TypeFor[int64]()}}
	for _, c := range []carriage{there, there.back(reflect.TypeFor[scoredPhoto](), false)} {
		text, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		var inWorker carriage
		if err := json.Unmarshal(text, &inWorker); err != nil {
			t.Fatal(err)
		}
		here, err := c.wireType()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := inWorker.wireType(); got != here {
			t.Errorf("a worker makes %v (%v) of %v", got, err, here)
		}
	}
}

func packed(t *testing.T, c carriage, key, row any) reflect.Value {
	t.Helper()
	var p packer
	if err := p.init(c); err != nil {
		t.Fatal(err)
	}
	columns, err := p.pack(key, row)
	if err != nil {
		t.Fatal(err)
	}
	return reflect.ValueOf(columns)
}

func unpacked(t *testing.T, c carriage, columns any) (key, row any) {
	t.Helper()
	var u unpacker
	if err := u.init(c); err != nil {
		t.Fatal(err)
	}
	key, row, err := u.unpack(columns)
	if err != nil {
		t.Fatal(err)
	}
	return key, row
}

// answered is what the service makes of packed photos: it keeps the opaque
// column and adds the average.
func answered(t *testing.T, c carriage, columns reflect.Value, average float64) any {
	t.Helper()
	wire, err := c.back(reflect.TypeFor[scoredPhoto](), false).wireType()
	if err != nil {
		t.Fatal(err)
	}
	answer := reflect.New(wire).Elem()
	answer.FieldByName("Average").SetFloat(average)
	answer.FieldByName("Opaque__").Set(columns.FieldByName("Opaque__"))
	return answer.Interface()
}

// failedColumns is what the service makes of a packed row that fails.
func failedColumns(t *testing.T, c carriage, columns reflect.Value) any {
	t.Helper()
	wire, err := c.back(reflect.TypeFor[Failed[photo]](), true).wireType()
	if err != nil {
		t.Fatal(err)
	}
	failed := reflect.New(wire).Elem()
	failed.FieldByName("Element").Set(columns)
	failed.FieldByName("Node").SetString("mean")
	return failed.Interface()
}
