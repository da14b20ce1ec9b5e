// Package dashed has a row whose package path has a dash and a dot.
package dashed

// Row is a row.
type Row struct {
	X float64 `beam:"x"`
}
