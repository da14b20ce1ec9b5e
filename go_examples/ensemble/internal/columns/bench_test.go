package columns

import (
	"reflect"
	"testing"
)

type light struct {
	ID         int64
	A, B, C, D float64
}

type digits struct {
	ID     int64
	Pixels []float64
}

const benchRows = 4096

func BenchmarkPackLight(b *testing.B)    { benchmarkPack(b, light{1, 2, 3, 4, 5}) }
func BenchmarkPackDigits(b *testing.B)   { benchmarkPack(b, digits{1, make([]float64, 64)}) }
func BenchmarkUnpackLight(b *testing.B)  { benchmarkUnpack(b, light{1, 2, 3, 4, 5}) }
func BenchmarkUnpackDigits(b *testing.B) { benchmarkUnpack(b, digits{1, make([]float64, 64)}) }

// benchmarkPack measures a row: boxed as Beam has it, to its part of a batch.
func benchmarkPack(b *testing.B, row any) {
	at := reflect.New(reflect.TypeOf(row)).Elem()
	writer, err := NewWriter(Of(at))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		at.Set(reflect.ValueOf(row))
		if writer.Add(); writer.Rows() == benchRows {
			if _, err := writer.Batch(benchRows); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// benchmarkUnpack measures a row: from its part of a batch to a boxed one.
func benchmarkUnpack(b *testing.B, row any) {
	at := reflect.New(reflect.TypeOf(row)).Elem()
	writer, err := NewWriter(Of(at))
	if err != nil {
		b.Fatal(err)
	}
	at.Set(reflect.ValueOf(row))
	for range benchRows {
		writer.Add()
	}
	batch, err := writer.Batch(benchRows)
	if err != nil {
		b.Fatal(err)
	}
	reader, err := NewReader(Of(at))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	next, rows := 0, 0
	for b.Loop() {
		if next == rows {
			if rows, err = reader.Open(batch); err != nil {
				b.Fatal(err)
			}
			next = 0
		}
		if err := reader.Read(next); err != nil {
			b.Fatal(err)
		}
		sunk = at.Interface()
		next++
	}
}

// sunk keeps the compiler from leaving out what makes it.
var sunk any
