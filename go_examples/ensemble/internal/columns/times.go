package columns

import (
	"fmt"
	"reflect"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
)

// TimeField is the one field of the row that stands for a time.Time: a text of
// RFC 3339, as Beam's own coder writes it.
const TimeField = "EncodedBeamData"

var timeType = reflect.TypeFor[time.Time]()

// timeBuilder collects times.
type timeBuilder struct {
	at   *time.Time
	text *string
	row  *rowBuilder
}

func newTimeBuilder(at *time.Time) (*timeBuilder, error) {
	b := &timeBuilder{at: at, text: new(string)}
	var err error
	b.row, err = newRowBuilder([]Place{textOfTime(b.text)})
	return b, err
}

func textOfTime(text *string) Place {
	return Place{Name: TimeField, At: reflect.ValueOf(text).Elem(), Required: true}
}

func (b *timeBuilder) add() int {
	at := *b.at
	if _, offset := at.Zone(); offset%60 != 0 {
		at = at.UTC() // RFC 3339 has no seconds in offsets.
	}
	*b.text = at.Format(time.RFC3339Nano)
	return b.row.add()
}

func (b *timeBuilder) kind() arrow.DataType  { return b.row.kind() }
func (b *timeBuilder) data() arrow.ArrayData { return b.row.data() }
func (b *timeBuilder) clear()                { b.row.clear() }

// timeReader reads times.
type timeReader struct {
	at   *time.Time
	text *string
	row  *rowReader
}

func newTimeReader(path string, at *time.Time) (*timeReader, error) {
	r := &timeReader{at: at, text: new(string)}
	var err error
	r.row, err = newRowReader(path, []Place{textOfTime(r.text)})
	return r, err
}

func (r *timeReader) open(column arrow.Array) error { return r.row.open(column) }

func (r *timeReader) read(row int) (err error) {
	if err := r.row.read(row); err != nil {
		return err
	}
	if *r.at, err = time.Parse(time.RFC3339, *r.text); err != nil {
		return fmt.Errorf("it holds no time of the years 0 to 9999: %w", err)
	}
	return nil
}
