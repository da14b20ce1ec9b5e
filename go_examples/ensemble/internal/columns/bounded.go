package columns

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow/memory"
)

const (
	// A batch may become so many bytes, or so many times its own length,
	// whichever is more.
	leastMemory  = 64 << 20
	mostUnpacked = 256
)

// boundedMemory is the memory of one batch. arrow-go takes as much as the
// lengths in a batch say, whatever its own, and Go ends a program that wants
// more than there is.
type boundedMemory struct {
	memory.Allocator
	left int
}

func memoryFor(batch []byte) *boundedMemory {
	return &boundedMemory{memory.NewGoAllocator(), max(leastMemory, mostUnpacked*len(batch))}
}

// Allocate panics, as arrow-go itself does where buffers do not fit together.
func (m *boundedMemory) Allocate(size int) []byte {
	m.take(size)
	return m.Allocator.Allocate(size)
}

// Reallocate panics likewise.
func (m *boundedMemory) Reallocate(size int, old []byte) []byte {
	m.take(size)
	return m.Allocator.Reallocate(size, old)
}

func (m *boundedMemory) take(size int) {
	if size < 0 || size > m.left {
		panic(fmt.Sprintf("it says that it takes %d bytes of memory, and %d are left for it", size, m.left))
	}
	m.left -= size
}
