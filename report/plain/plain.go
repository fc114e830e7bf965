// Package plain keeps text from outside (arguments, file names, logs, answers) from
// controlling the terminal that shows it: control characters, escapes and marks that
// reorder text are replaced by escapes as in JSON: \u001b. Line breaks and tabs remain.
//
// Entry points: NewWriter for a stream of text, Text for a single text.
package plain

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Writer passes text on, with control characters escaped as by Text. Several goroutines may write.
type Writer struct {
	to   io.Writer
	lock sync.Mutex
	rest []byte // the first bytes of a character that is not complete yet
}

// NewWriter returns a Writer that writes to to.
func NewWriter(to io.Writer) *Writer { return &Writer{to: to} }

// Raw returns the writer that a Writer writes to, for callers that send colours or redraw lines, and clean
// their text themselves. It returns any other writer as it is.
func Raw(w io.Writer) io.Writer {
	if own, is := w.(*Writer); is {
		return own.to
	}
	return w
}

// Write implements io.Writer.
func (w *Writer) Write(data []byte) (int, error) {
	w.lock.Lock()
	defer w.lock.Unlock()
	text := slices.Concat(w.rest, data)
	whole := len(text)
	for last := whole - 1; last >= 0 && whole-last < utf8.UTFMax; last-- {
		if utf8.RuneStart(text[last]) {
			if !utf8.FullRune(text[last:]) {
				whole = last
			}
			break
		}
	}
	w.rest = text[whole:]
	_, err := io.WriteString(w.to, Text(string(text[:whole])))
	return len(data), err
}

// Text returns a text in which everything that could control a terminal is replaced by a printable escape.
func Text(text string) string {
	var shown strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case r == '\n' || r == '\t':
			shown.WriteRune(r)
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&shown, `\x%02x`, text[0])
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), r == '\u2028', r == '\u2029':
			fmt.Fprintf(&shown, `\u%04x`, r)
		default:
			shown.WriteString(text[:size])
		}
		text = text[size:]
	}
	return shown.String()
}
