package main

import (
	"encoding/json"
	"os"
	"reflect"
	"testing"

	"cloud.google.com/go/bigquery"
)

// golden is what all languages write to BigQuery.
type golden struct {
	Schema struct {
		Fields json.RawMessage
	}
	Rows []json.RawMessage
}

func readGolden(t *testing.T) golden {
	t.Helper()
	text, err := os.ReadFile("../../../tests/golden/bigquery/detection.json")
	if err != nil {
		t.Fatal(err)
	}
	var found golden
	if err := json.Unmarshal(text, &found); err != nil {
		t.Fatal(err)
	}
	return found
}

// inferred gives the schema that bigqueryio makes the table with.
func inferred(t *testing.T) bigquery.Schema {
	t.Helper()
	schema, err := bigquery.InferSchema(Found{})
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func TestTableHasRepeatedRecord(t *testing.T) {
	want, err := bigquery.SchemaFromJSON(readGolden(t).Schema.Fields)
	if err != nil {
		t.Fatal(err)
	}
	if got := inferred(t); !reflect.DeepEqual(got, want) {
		t.Errorf("the table has %v, want %v", got, want)
	}
}

// TestRowsAreAsTheTableTakesThem saves rows as bigqueryio does to insert them.
func TestRowsAreAsTheTableTakesThem(t *testing.T) {
	for _, want := range readGolden(t).Rows {
		var row Found
		if err := json.Unmarshal(want, &row); err != nil {
			t.Fatal(err)
		}
		saver := bigquery.StructSaver{Schema: inferred(t), Struct: row}
		saved, _, err := saver.Save()
		if err != nil {
			t.Fatal(err)
		}
		got, err := json.Marshal(saved)
		if err != nil {
			t.Fatal(err)
		}
		if !sameJSON(t, got, want) {
			t.Errorf("inserts %s, want %s", got, want)
		}
	}
}

func sameJSON(t *testing.T, one, two []byte) bool {
	t.Helper()
	var values [2]any
	for at, text := range [][]byte{one, two} {
		if err := json.Unmarshal(text, &values[at]); err != nil {
			t.Fatal(err)
		}
	}
	return reflect.DeepEqual(values[0], values[1])
}
