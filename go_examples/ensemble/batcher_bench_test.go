package ensemble

import (
	"reflect"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
)

// lightRow and digitsRow are the rows of the benchmarks' workloads.
type lightRow struct {
	ID         int64
	A, B, C, D float64
}

type digitsRow struct {
	ID     int64
	Pixels []float64
}

var (
	aLightRow  = lightRow{1, 2, 3, 4, 5}
	aDigitsRow = digitsRow{1, make([]float64, 64)}
)

func BenchmarkPackLight(b *testing.B)        { benchmarkPack(b, aLightRow, nil) }
func BenchmarkPackDigits(b *testing.B)       { benchmarkPack(b, aDigitsRow, nil) }
func BenchmarkPackKeyedLight(b *testing.B)   { benchmarkPack(b, aLightRow, "key") }
func BenchmarkUnpackLight(b *testing.B)      { benchmarkUnpack(b, aLightRow, nil) }
func BenchmarkUnpackDigits(b *testing.B)     { benchmarkUnpack(b, aDigitsRow, nil) }
func BenchmarkUnpackKeyedLight(b *testing.B) { benchmarkUnpack(b, aLightRow, "key") }

func carriageOf(row, key any) carriage {
	if key == nil {
		return *newCarriage(reflect.TypeOf(row), nil)
	}
	return *newCarriage(reflect.TypeOf(row), reflect.TypeOf(key))
}

// benchmarkPack measures a row: boxed as Beam has it, to its part of a batch.
func benchmarkPack(b *testing.B, row, key any) {
	batcher, err := newBatcher(carriageOf(row, key))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := batcher.add(1, key, row, func(beam.EventTime, []byte) {}); err != nil {
			b.Fatal(err)
		}
	}
}

// benchmarkUnpack measures a row: from its part of a batch to a boxed one.
func benchmarkUnpack(b *testing.B, row, key any) {
	there := carriageOf(row, key)
	batcher, err := newBatcher(there)
	if err != nil {
		b.Fatal(err)
	}
	var batch []byte
	for batch == nil {
		err := batcher.add(1, key, row, func(_ beam.EventTime, full []byte) { batch = full })
		if err != nil {
			b.Fatal(err)
		}
	}
	unbatcher, err := newUnbatcher(there.back(reflect.TypeOf(row), false))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	next, rows := 0, 0
	for b.Loop() {
		if next == rows {
			if rows, err = unbatcher.open(batch); err != nil {
				b.Fatal(err)
			}
			next = 0
		}
		if _, _, _, err := unbatcher.read(next); err != nil {
			b.Fatal(err)
		}
		next++
	}
}
