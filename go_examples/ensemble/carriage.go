package ensemble

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/graphx/schema"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/util/hooks"
)

// carriage describes one crossing of rows that cannot cross as they are: from
// the program's types to columns and the opaque column, or back. Workers build
// the same steps and types from it as the program that made the pipeline.
type carriage struct {
	// Row is the struct type of the rows that go in.
	Row beam.EncodedType
	// Key is the type of their keys, where they have any.
	Key *beam.EncodedType `json:",omitempty"`
	// Target is the struct type that comes out on the way back: the scored
	// row, or the Failed one. On the way there it is nil.
	Target *beam.EncodedType `json:",omitempty"`
	// Failed says that Target is a Failed.
	Failed bool `json:",omitempty"`
}

// newCarriage is the way there, of rows and their keys, where they have any.
func newCarriage(row, key reflect.Type) *carriage {
	c := &carriage{Row: beam.EncodedType{T: row}}
	if key != nil {
		c.Key = &beam.EncodedType{T: key}
	}
	return c
}

// back is the way back of c, to target.
func (c carriage) back(target reflect.Type, failed bool) carriage {
	c.Target, c.Failed = &beam.EncodedType{T: target}, failed
	return c
}

// wireType is the struct type of the rows between Go and the other language.
func (c carriage) wireType() (reflect.Type, error) {
	row, err := shapeOf(c.Row.T)
	if err != nil {
		return nil, err
	}
	if c.Target == nil {
		return row.columnsType(true), nil
	}
	if c.Failed {
		return failedWire(c.Target.T, row.columnsType(true)), nil
	}
	scored, err := shapeOf(c.Target.T)
	if err != nil {
		return nil, err
	}
	return scored.columnsType(c.Key != nil || len(scored.opaque) > 0), nil
}

// failedWire is the struct type of a Failed whose row is another struct.
func failedWire(failed, row reflect.Type) reflect.Type {
	fields := bare(structFields(failed))
	fields[0].Type = row
	return reflect.StructOf(fields)
}

// announceHook makes workers know the wire types of the pipeline's carriages:
// they have no names, so no program can register them.
const announceHook = "beam-ensembles-wire-types"

func init() {
	hooks.RegisterHook(announceHook, func(carriages []string) hooks.Hook {
		return hooks.Hook{Init: func(ctx context.Context) (context.Context, error) {
			return ctx, learn(carriages)
		}}
	})
}

// announce gives c's wire type, and has the workers learn it too.
func (c carriage) announce() (reflect.Type, error) {
	wire, err := c.wireType()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("ensemble: %v cannot be sent to workers; "+
			"register it with beam.RegisterType in an init function: %w", c.Row.T, err)
	}
	_, announced := hooks.IsEnabled(announceHook)
	if slices.Contains(announced, string(text)) {
		return wire, nil
	}
	return wire, hooks.EnableHook(announceHook, append(slices.Clone(announced), string(text))...)
}

// learn puts the wire types of carriages into Beam's registry of schemas.
func learn(carriages []string) error {
	for _, text := range carriages {
		var c carriage
		if err := json.Unmarshal([]byte(text), &c); err != nil {
			return fmt.Errorf("ensemble: reading the wire types of the pipeline: %w", err)
		}
		wire, err := c.wireType()
		if err != nil {
			return err
		}
		if _, err := schema.FromType(wire); err != nil {
			return fmt.Errorf("ensemble: %w", err)
		}
	}
	return nil
}
