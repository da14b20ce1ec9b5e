package ensemble

import (
	"fmt"
	"regexp"
	"strings"
)

// Error is what the expansion service found wrong with an ensemble or with the
// way it is called, or why it could not be asked. All problems are reported
// together, in the words of the ensemble file.
type Error struct {
	// Problems lists what is wrong, one entry a mistake. It is empty where
	// the service could not be asked, or refused the call as a whole.
	Problems []Problem

	text string
}

// Problem is one mistake, and where it is.
type Problem struct {
	// Code is the stable name of the kind of mistake, such as
	// "unknown_column".
	Code string
	// Path is the place: a path in the ensemble file, such as
	// "nodes.vote.inputs[1]", "$" for the whole file, "input.<field>" for a
	// field of the rows, or the name of an option of the call.
	Path string
	// Message says what is wrong and what is allowed, for people.
	Message string
}

// Error returns the whole text, the service's own where it answered.
func (e *Error) Error() string { return e.text }

// failure is an Error without problems in the file.
func failure(format string, args ...any) *Error {
	return &Error{text: fmt.Sprintf(format, args...)}
}

var problemLine = regexp.MustCompile(`^\s*\[([a-z0-9_]+)\] (\S.*?): (.*)$`)

// parseError turns the text of a failed expansion into an Error.
func parseError(text string) *Error {
	err := &Error{text: strings.TrimSpace(text)}
	for line := range strings.Lines(text) {
		if m := problemLine.FindStringSubmatch(strings.TrimRight(line, "\r\n")); m != nil {
			err.Problems = append(err.Problems, Problem{Code: m[1], Path: m[2], Message: m[3]})
		}
	}
	return err
}
