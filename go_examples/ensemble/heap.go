package ensemble

import (
	"math"
	"runtime/debug"
	"sync"
)

// ballastBytes is how much larger the heap of a program is to its garbage
// collector. With GOGC=100, there may be as much more garbage before the next
// collection.
const ballastBytes = 64 << 20

// ballast is never written to, so that it is a range of addresses and no
// memory.
var ballast []byte

// holdBallast lets a program's garbage collector come less often. Rows are
// gone at once, and what is held is little, a few batches: collecting it again
// and again took a tenth of the rows a second. Unlike a higher GOGC, which
// multiplies whatever a program holds, a ballast costs what it is and no more.
var holdBallast = sync.OnceFunc(func() { ballast = ballastUnder(debug.SetMemoryLimit(-1)) })

// ballastUnder gives the ballast of a program whose memory has this limit:
// none where GOMEMLIMIT sets one, because unused addresses count to it, too.
func ballastUnder(limit int64) []byte {
	if limit < math.MaxInt64 {
		return nil
	}
	return make([]byte, ballastBytes)
}
