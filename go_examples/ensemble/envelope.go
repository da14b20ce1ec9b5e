package ensemble

import (
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/beam-ensembles/beam-ensembles/go_examples/ensemble/internal/columns"
)

// timeColumn holds, in an Arrow batch, the event times of the rows, in
// microseconds since 1970.
const timeColumn = "__event_time"

const microsPerMilli = 1000

// places are the columns of the struct that row holds.
func (s shape) places(row reflect.Value) []columns.Place {
	var places []columns.Place
	for _, field := range s.columns {
		places = append(places, columns.Place{Name: columns.FieldName(field), At: row.FieldByIndex(field.Index)})
	}
	return places
}

// packs says whether the Arrow batches of rows of a shape have an opaque
// column.
func (c carriage) packs(row shape) bool { return c.Key != nil || len(row.opaque) > 0 }

func opaquePlace(at *[]byte) columns.Place {
	return columns.Place{Name: opaqueColumn, At: reflect.ValueOf(at).Elem(), Required: true}
}

func timePlace(at *int64) columns.Place {
	return columns.Place{Name: timeColumn, At: reflect.ValueOf(at).Elem()}
}

// micros are the microseconds of an event time. There are enough of them for
// all of Beam's times.
func micros(t beam.EventTime) int64 { return t.Milliseconds() * microsPerMilli }

// eventTime is the time of microseconds, at the last whole millisecond.
func eventTime(micros int64) beam.EventTime {
	millis := micros / microsPerMilli
	if micros%microsPerMilli < 0 {
		millis--
	}
	return beam.EventTime(millis)
}
