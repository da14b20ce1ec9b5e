package ensemble

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"
)

// Error is every error of a call: what the expansion service found wrong with
// the ensemble, what is wrong with the call, or why the service could not be
// asked. All problems are reported together, in the words of the ensemble file.
// It wraps its cause, so that errors.Is finds os.ErrNotExist or
// context.DeadlineExceeded, and status.Code the code of a failed request.
type Error struct {
	// Problems lists what is wrong, one entry per mistake. It is empty where
	// the service could not be asked, or the call is refused as a whole.
	Problems []Problem

	text  string
	cause error
}

// Problem is one mistake, and where it is.
type Problem struct {
	// Code is the stable name of the kind of mistake, such as
	// CodeUnknownColumn.
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

// Unwrap returns what caused the error, such as that of the file system or of
// gRPC, or nil.
func (e *Error) Unwrap() error { return e.cause }

// failure is an Error without problems in the file. It wraps what format does.
func failure(format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{text: printable(err.Error()), cause: errors.Unwrap(err)}
}

// because sets the cause of an error whose text does not quote it.
func (e *Error) because(cause error) *Error {
	e.cause = cause
	return e
}

// asError makes an Error of any other error.
func asError(err error) error {
	if err == nil {
		return nil
	}
	var own *Error
	if errors.As(err, &own) { // Without what Beam wraps around it.
		return own
	}
	text := err.Error()
	if !strings.HasPrefix(text, "ensemble: ") {
		text = "ensemble: " + text
	}
	return &Error{text: printable(text), cause: err}
}

// printable returns text with a mark for each character that a terminal acts
// on, such as escape codes: whoever answers may send any. Lines stay lines.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\r':
			return -1
		case r == '\n' || r == '\t' || unicode.IsGraphic(r):
			return r
		}
		return unicode.ReplacementChar
	}, text)
}

var problemLine = regexp.MustCompile(`^\s*\[([a-z0-9_]+)\] (\S.*?): (.*)$`)

// parseError turns the text of a failed expansion into an Error.
func parseError(text string) *Error {
	text = printable(text)
	err := &Error{text: strings.TrimSpace(text)}
	for line := range strings.Lines(text) {
		if m := problemLine.FindStringSubmatch(strings.TrimRight(line, "\n")); m != nil {
			err.Problems = append(err.Problems, Problem{Code: m[1], Path: m[2], Message: m[3]})
		}
	}
	return err
}
