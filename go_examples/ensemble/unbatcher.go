package ensemble

import (
	"fmt"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/beam-ensembles/beam-ensembles/go_examples/ensemble/internal/columns"
)

// unbatcher unpacks the rows of Arrow batches: scored ones, or Failed ones.
type unbatcher struct {
	reader *columns.Reader
	// The variables that the reader fills. What the opaque column belongs to is
	// restored: the target itself, or the row in a Failed.
	target, restored reflect.Value
	packed           []byte
	micros           int64

	// opaque is nil where the batches have no opaque column.
	opaque *opaqueUnpacker
	failed bool
}

func newUnbatcher(c carriage) (*unbatcher, error) {
	u := &unbatcher{target: reflect.New(c.Target.T).Elem(), failed: c.Failed}
	u.restored = u.target
	if c.Failed {
		u.restored = reflect.New(c.Row.T).Elem()
	}
	restored, err := shapeOf(u.restored.Type())
	if err != nil {
		return nil, err
	}
	places := restored.places(u.restored)
	if c.packs(restored) {
		if u.opaque, err = newOpaqueUnpacker(c, restored.row); err != nil {
			return nil, err
		}
		places = append(places, opaquePlace(&u.packed))
	}
	if c.Failed {
		failed := columns.Of(u.target)
		failed[0] = columns.Place{Name: failed[0].Name, Fields: places}
		places = failed
	}
	u.reader, err = columns.NewReader(append(places, timePlace(&u.micros)))
	return u, err
}

// open takes a batch, and gives the number of its rows.
func (u *unbatcher) open(batch []byte) (int, error) {
	rows, err := u.reader.Open(batch)
	if err != nil {
		return 0, wrongBatch(err)
	}
	return rows, nil
}

// read gives a row of the batch, with its event time and key.
func (u *unbatcher) read(row int) (time beam.EventTime, key, value any, err error) {
	if err := u.reader.Read(row); err != nil {
		return 0, nil, nil, wrongBatch(err)
	}
	if u.opaque != nil {
		if key, err = u.opaque.unpack(u.packed, u.restored); err != nil {
			return 0, nil, nil, wrongBatch(err)
		}
	}
	if u.failed {
		u.placeElement()
	}
	return eventTime(u.micros), key, u.target.Interface(), nil
}

// placeElement puts the restored row into the Failed.
func (u *unbatcher) placeElement() {
	element := u.target.Field(0)
	if element.Kind() != reflect.Pointer {
		element.Set(u.restored)
		return
	}
	own := reflect.New(u.restored.Type())
	own.Elem().Set(u.restored)
	element.Set(own)
}

func wrongBatch(err error) error {
	return fmt.Errorf("ensemble: reading what the service gives: %w", err)
}
