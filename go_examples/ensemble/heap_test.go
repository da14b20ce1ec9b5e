package ensemble

import (
	"math"
	"reflect"
	"runtime/debug"
	"testing"
)

func TestWhatPacksAndUnpacksRowsHoldsOneBallast(t *testing.T) {
	if limit := debug.SetMemoryLimit(-1); limit != math.MaxInt64 {
		t.Skipf("the memory of this program has a limit: %d", limit)
	}
	type row struct{ A float64 }
	there := *newCarriage(reflect.TypeFor[row](), nil)
	if _, err := newBatcher(there); err != nil {
		t.Fatal(err)
	}
	held := ballast
	if len(held) != ballastBytes {
		t.Fatalf("the ballast is %d bytes, want %d", len(held), ballastBytes)
	}
	if _, err := newUnbatcher(there.back(reflect.TypeFor[row](), false)); err != nil {
		t.Fatal(err)
	}
	if &ballast[0] != &held[0] {
		t.Error("there is another ballast after a second step has been set up")
	}
}

func TestThereIsNoBallastUnderALimit(t *testing.T) {
	if held := ballastUnder(1 << 30); held != nil {
		t.Errorf("%d bytes of ballast under a limit, want none", len(held))
	}
}
