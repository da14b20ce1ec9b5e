package columns

import (
	"math/rand"
	"reflect"
	"testing"
)

type image struct {
	Pixels []float64 `beam:"pixels"`
}

// images makes rows of as many pixels, each one of the levels: few of them
// make rows that LZ4 makes smaller.
func images(random *rand.Rand, rows, pixels int, level func(*rand.Rand) float64) []image {
	made := make([]image, rows)
	for i := range made {
		made[i].Pixels = make([]float64, pixels)
		for p := range made[i].Pixels {
			made[i].Pixels[p] = level(random)
		}
	}
	return made
}

func TestWriterCompressesWhereThatPays(t *testing.T) {
	coarse := func(random *rand.Rand) float64 { return float64(random.Intn(4)) }
	fine := func(random *rand.Rand) float64 { return random.NormFloat64() }
	for name, test := range map[string]struct {
		rows    []image
		smaller bool
	}{
		"what LZ4 makes smaller": {images(rand.New(rand.NewSource(1)), 512, 64, coarse), true},
		"what it does not":       {images(rand.New(rand.NewSource(2)), 512, 64, fine), false},
		"what is small":          {images(rand.New(rand.NewSource(3)), 8, 64, coarse), false},
	} {
		batch := writeAll(t, reflect.ValueOf(test.rows))
		plain := len(test.rows) * 64 * 8
		if smaller := len(batch) < plain/2; smaller != test.smaller {
			t.Errorf("%s: %d bytes become %d", name, plain, len(batch))
		}
		if got := readAll(t, reflect.TypeFor[image](), batch).Interface(); !reflect.DeepEqual(got, test.rows) {
			t.Errorf("%s: other rows come back", name)
		}
	}
}

// TestWriterTriesAgain makes sure that rows are compressed which have become
// such that it pays, and that it is not tried with every batch of others.
func TestWriterTriesAgain(t *testing.T) {
	var row image
	writer, err := NewWriter(Of(reflect.ValueOf(&row).Elem()))
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewSource(4))
	size := func(level float64) int {
		for range 512 {
			row.Pixels = make([]float64, 64)
			for p := range row.Pixels {
				row.Pixels[p] = level * random.NormFloat64()
			}
			writer.Add()
		}
		batch, err := writer.Batch(writer.Rows())
		if err != nil {
			t.Fatal(err)
		}
		return len(batch)
	}
	before := size(1)
	for i := range plainBatches {
		if got := size(0); got < before/2 {
			t.Fatalf("batch %d after one that cannot be compressed is", i+1)
		}
	}
	if got := size(0); got > before/2 {
		t.Errorf("still writes %d bytes", got)
	}
}
