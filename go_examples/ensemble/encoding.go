package ensemble

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"sync"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/log"
)

// Encoding is how rows travel between Go and the expansion service's transform.
//
// Arrow record batches of up to 16384 rows or 4 MiB are many times faster than
// single rows in Beam's row coder. They need the global window, because Beam for
// Go emits the last batch of a bundle into that window only, and types that are
// registered. Elsewhere rows travel one by one, and the log says so once. A batch
// waits for no more rows than its bundle has. A service older than batches takes
// EncodingRows only.
//
// Slices of numbers and bytes in a scored row lie in the memory of its batch:
// copy them to keep a few rows for long.
type Encoding string

const (
	// EncodingRows sends rows one by one, in Beam's row coder.
	EncodingRows Encoding = "rows"
	// EncodingArrow sends rows in batches, as columns. It is faster.
	EncodingArrow Encoding = "arrow"
)

// WithEncoding sets how rows travel. Without this option it is EncodingArrow
// wherever that is possible. A call with EncodingArrow is refused where it is
// not.
func WithEncoding(encoding Encoding) Option {
	return func(c *call) { c.encoding = encoding }
}

// chooseEncoding says how the rows of a collection travel, whose pipeline uses
// the types. Wanted is empty where the caller leaves it open.
func chooseEncoding(wanted Encoding, rows beam.PCollection, types ...reflect.Type) (Encoding, error) {
	switch wanted {
	case EncodingRows:
		return EncodingRows, nil
	case EncodingArrow, "":
	default:
		return "", fmt.Errorf("ensemble: there is no encoding %q; there are %q and %q", wanted, EncodingRows, EncodingArrow)
	}
	if rows.WindowingStrategy().Fn.Kind != window.GlobalWindows {
		// Beam for Go emits the last batch of a bundle into the global window only.
		if wanted == EncodingArrow {
			return "", failure("ensemble: rows in windows other than the global one cannot travel as %q; "+
				"use WithEncoding(EncodingRows), or leave the option out", EncodingArrow)
		}
		logOnce("ensemble: rows in windows other than the global one travel one by one, not in batches")
		return EncodingRows, nil
	}
	if err := requireRegistered(types...); err != nil {
		if wanted == EncodingArrow {
			return "", err
		}
		logOnce("ensemble: rows travel one by one, not in batches: %s", strings.TrimPrefix(err.Error(), "ensemble: "))
		return EncodingRows, nil
	}
	return EncodingArrow, nil
}

// logged are the lines that this process has logged once.
var logged sync.Map

func logOnce(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	if _, known := logged.LoadOrStore(line, true); !known {
		log.Info(context.Background(), line)
	}
}
