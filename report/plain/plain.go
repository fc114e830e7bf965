// Package plain keeps what others wrote (arguments, file names, logs, answers) from
// steering the terminal that shows it: control characters, escapes and marks that
// reorder text are written out instead, as in JSON: \u001b. Line breaks and tabs stay.
//
// Entry points: NewWriter for a stream of text, Text for one.
package plain

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Writer passes text on, with everything written out that would steer a terminal.
type Writer struct {
	to   io.Writer
	rest []byte // the beginning of a character whose end has not come yet
}

// NewWriter returns a writer on to.
func NewWriter(to io.Writer) *Writer { return &Writer{to: to} }

// Raw returns the writer below a Writer, for callers that send colours or redraw lines, and clean what they
// show themselves.
func Raw(w io.Writer) io.Writer {
	if own, is := w.(*Writer); is {
		return own.to
	}
	return w
}

// Write implements io.Writer.
func (w *Writer) Write(data []byte) (int, error) {
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

// Text returns a text with everything written out that would steer a terminal.
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
