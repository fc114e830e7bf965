package report

import (
	"strings"
	"unicode"
)

// clean makes a text safe to show on one line: it replaces line breaks and
// tabs by spaces and drops control characters, terminal escapes and marks that
// reorder text (bidirectional overrides), which could fake a result.
func clean(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\r' || r == '\t' || r == '\u2028' || r == '\u2029':
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r):
			return -1
		}
		return r
	}, text))
}

// cleanAll cleans every text and leaves out the empty ones.
func cleanAll(texts []string) []string {
	kept := make([]string, 0, len(texts))
	for _, text := range texts {
		if text = clean(text); text != "" {
			kept = append(kept, text)
		}
	}
	return kept
}
