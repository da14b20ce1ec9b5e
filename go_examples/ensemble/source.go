package ensemble

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// Source says where the ensemble file is. FromFile, FromText and FromURI make
// one.
type Source interface {
	// describe fills in the part of the config that names the file.
	describe(*config) error
	// folder is where the file lies: what a service that this process starts
	// may trust.
	folder() string
}

// FromFile reads the ensemble file at path on this machine, in YAML or JSON,
// and sends its text. Relative URIs in it are relative to its folder. Of a
// bundle, which `beam-ensembles pack` makes, it sends the path: the service
// reads it there.
func FromFile(path string) Source { return fileSource(path) }

// FromText sends an ensemble file's text. Relative URIs in it are relative to
// baseURI, an absolute folder or URI; it may be empty when the text has none.
func FromText(text, baseURI string) Source { return textSource{text: text, baseURI: baseURI} }

// FromURI has the expansion service read the ensemble file, or the bundle, at
// uri by itself.
// Relative URIs in the file are relative to uri.
func FromURI(uri string) Source { return uriSource(uri) }

// bundleSuffix is how the name of a bundle ends.
const bundleSuffix = ".ensemble.zip"

type fileSource string

func (f fileSource) describe(c *config) error {
	if strings.Contains(string(f), "://") {
		return failure("ensemble: FromFile reads files of this machine; for %s use FromURI", f)
	}
	if strings.HasSuffix(string(f), bundleSuffix) {
		c.SpecURI = f.absolute()
		return nil
	}
	text, err := os.ReadFile(string(f))
	if errors.Is(err, fs.ErrNotExist) {
		return unreadable(CodeMissingFile, "there is no file '%s'", f.absolute()).because(err)
	}
	if err != nil {
		return unreadable(CodeUnreadableFile, "the file '%s' cannot be read: %v", f.absolute(), innermost(err)).because(err)
	}
	if !utf8.Valid(text) {
		return unreadable(CodeUnreadableFile, "the file '%s' is not text in UTF-8", f.absolute())
	}
	if strings.TrimSpace(string(text)) == "" {
		return unreadable(CodeEmptyFile, "there is nothing in the file '%s'", f.absolute())
	}
	c.Spec, c.BaseURI = string(text), f.folder()
	return nil
}

func (f fileSource) folder() string { return filepath.Dir(f.absolute()) }

func (f fileSource) absolute() string {
	full, err := filepath.Abs(string(f))
	if err != nil { // The working directory is gone: the path as it is says most.
		return string(f)
	}
	return full
}

type textSource struct{ text, baseURI string }

func (t textSource) describe(c *config) error {
	if strings.TrimSpace(t.text) == "" {
		return failure("ensemble: the text given to FromText is empty")
	}
	c.Spec, c.BaseURI = t.text, t.baseURI
	return nil
}

func (t textSource) folder() string { return t.baseURI }

type uriSource string

func (u uriSource) describe(c *config) error {
	if u == "" {
		return failure("ensemble: the URI given to FromURI is empty")
	}
	c.SpecURI = string(u)
	return nil
}

func (u uriSource) folder() string {
	scheme, rest, found := strings.Cut(string(u), "://")
	if !found {
		return path.Dir(string(u))
	}
	return scheme + "://" + path.Dir(rest)
}

// unreadable is the error of a file that the client cannot send.
func unreadable(code, format string, args ...any) *Error {
	message := fmt.Sprintf(format, args...)
	return &Error{
		Problems: []Problem{{Code: code, Path: "$", Message: message}},
		text:     "ensemble: " + message,
	}
}
