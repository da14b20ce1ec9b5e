package ensemble

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

func TestParseErrorFindsEveryProblem(t *testing.T) {
	text := "ensemble 'digits' is not valid: 3 problems\n" +
		"  [unknown_column] nodes.vote.inputs[1]: no column 'forst_proba'; did you mean 'forest_proba'? Columns: a, b\n" +
		"  [bad_name] inputs[\"cust id\"]: 'cust id' cannot be a name: no spaces\n" +
		"  [syntax] $: found [x] y: z\n"
	want := []Problem{
		{"unknown_column", "nodes.vote.inputs[1]", "no column 'forst_proba'; did you mean 'forest_proba'? Columns: a, b"},
		{"bad_name", `inputs["cust id"]`, "'cust id' cannot be a name: no spaces"},
		{"syntax", "$", "found [x] y: z"},
	}
	err := parseError(text)
	if !reflect.DeepEqual(err.Problems, want) {
		t.Errorf("finds %q, not %q", err.Problems, want)
	}
	if err.Error() != strings.TrimSpace(text) {
		t.Errorf("says %q, not the text", err)
	}
}

func TestParseErrorKeepsTextWithoutProblems(t *testing.T) {
	err := parseError("this transform is not served here\n")
	if len(err.Problems) != 0 || err.Error() != "this transform is not served here" {
		t.Errorf("makes %q of the text, with %v", err, err.Problems)
	}
}

func TestRefusalNamesAnOlderService(t *testing.T) {
	for text, older := range map[string]bool{
		"the call is not valid\n  [unknown_option] columns: there is no option 'columns'":                     true,
		"ensemble 'digits' is not valid\n  [unknown_option] nodes.vote.wieghts: 'soft_vote' has no 'wieghts'": false,
		"ensemble 'digits' is not valid\n  [unknown_key] columns: there is no key 'columns'":                  false,
	} {
		if got := strings.Contains(refusal("localhost:8097", text).Error(), "older than this client"); got != older {
			t.Errorf("%q is said to come from an older service: %v", text, got)
		}
	}
}

func TestSourcesSayWhatIsMissing(t *testing.T) {
	for _, c := range []struct {
		file Source
		want string
	}{
		{FromFile("nowhere/digits.yaml"), "there is no file '/"},
		{FromFile("."), "cannot be read: is a directory"},
		{FromFile("gs://bucket/digits.yaml"), "use FromURI"},
		{FromText(" \n", "/models"), "the text given to FromText is empty"},
		{FromURI(""), "the URI given to FromURI is empty"},
	} {
		err := c.file.describe(&config{})
		var problems *Error
		if !errors.As(err, &problems) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v: says %v, not one sentence with %q", c.file, err, c.want)
		}
	}
}

func TestRefusalOfBatchesNamesTheWayAround(t *testing.T) {
	text := "  [unknown_option] encoding: there is no option 'encoding'"
	if got := refusal("localhost:8097", text).Error(); !strings.Contains(got, "use the option WithEncoding(Rows)") {
		t.Errorf("says %v", got)
	}
}

func TestSourcesKnowTheirFolder(t *testing.T) {
	for file, want := range map[Source]string{
		FromFile("/models/digits.yaml"):          "/models",
		FromText("ensemble: x", "gs://b/models"): "gs://b/models",
		FromURI("gs://bucket/models/d.yaml"):     "gs://bucket/models",
		FromURI("/models/digits.yaml"):           "/models",
	} {
		if got := file.folder(); got != want {
			t.Errorf("%v lies in %q, not %q", file, got, want)
		}
	}
}
