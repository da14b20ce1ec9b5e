package columns

import (
	"encoding/binary"
	"errors"
)

const (
	// continuation is before the length of each message of a stream.
	continuation = 0xFFFFFFFF
	// mostParts bounds the fields of a schema, and the texts about them: a field
	// may stand in several places, so a few bytes can say any number.
	mostParts = 1 << 18
	// ofSchema is the type of a message that holds a schema.
	ofSchema = 1
)

// The places of what is read of a message, as Arrow's Message.fbs and
// Schema.fbs have them.
const (
	messageType, messageHeader  = 1, 2
	schemaFields, schemaTexts   = 1, 2
	fieldChildren, fieldTexts   = 5, 6
	bytesOfOffset, bytesOfTable = 4, 4
)

var errSchema = errors.New("a length in its schema goes beyond its end, or it has too many fields")

// checkSchema makes sure that arrow-go can read the schema of a stream: it takes
// as much memory as the lengths in there say. A schema that is too short is left
// to arrow-go, or panics.
func checkSchema(stream []byte) error {
	start := bytesOfOffset
	if len(stream) < 2*bytesOfOffset {
		return nil
	}
	if binary.LittleEndian.Uint32(stream) == continuation {
		start += bytesOfOffset
	}
	length := int(binary.LittleEndian.Uint32(stream[start-bytesOfOffset:]))
	if length > len(stream)-start {
		return errSchema
	}
	c := schemaCheck{data: stream[start : start+length], left: mostParts}
	message := c.follow(0)
	kind, header := c.place(message, messageType), c.place(message, messageHeader)
	if kind == 0 || header == 0 || c.data[kind] != ofSchema {
		return nil // arrow-go says what it is instead
	}
	return c.check(c.follow(header), schemaFields, schemaTexts)
}

// schemaCheck reads the tables of a message, which FlatBuffers made.
type schemaCheck struct {
	data []byte
	left int
}

// check looks through a table that has fields, and texts about it.
func (c *schemaCheck) check(table, fields, texts int) error {
	if _, _, err := c.vector(table, texts); err != nil {
		return err
	}
	at, end, err := c.vector(table, fields)
	for ; err == nil && at < end; at += bytesOfOffset {
		err = c.check(c.follow(at), fieldChildren, fieldTexts)
	}
	return err
}

// vector gives where the items of a vector start and end.
func (c *schemaCheck) vector(table, field int) (start, end int, err error) {
	place := c.place(table, field)
	if place == 0 {
		return 0, 0, nil
	}
	at := c.follow(place)
	count := int(binary.LittleEndian.Uint32(c.data[at:]))
	start = at + bytesOfOffset
	if c.left -= count; c.left < 0 || count > (len(c.data)-start)/bytesOfOffset {
		return 0, 0, errSchema
	}
	return start, start + count*bytesOfOffset, nil
}

// follow gives where the offset at a place leads.
func (c *schemaCheck) follow(place int) int {
	return place + int(binary.LittleEndian.Uint32(c.data[place:]))
}

// place gives where a field of a table is, or 0 where it has none.
func (c *schemaCheck) place(table, field int) int {
	layout := table - int(int32(binary.LittleEndian.Uint32(c.data[table:])))
	entry := bytesOfTable + 2*field
	if entry+2 > int(binary.LittleEndian.Uint16(c.data[layout:])) {
		return 0
	}
	offset := int(binary.LittleEndian.Uint16(c.data[layout+entry:]))
	if offset == 0 {
		return 0
	}
	return table + offset
}
