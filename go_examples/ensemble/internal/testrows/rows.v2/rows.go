// Package rows has rows whose package path ends with a dot in its last element.
package rows

// Row is a row.
type Row struct {
	X float64 `beam:"x"`
}

// Of is a generic row.
type Of[T any] struct {
	X T `beam:"x"`
}
