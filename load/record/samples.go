package record

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of the samples: a target that fails a million times with different texts must not fill the
// memory.
const (
	maxSamples  = 3   // per status
	sampleBytes = 200 // of a body, in bytes
)

// ErrorSamples holds the beginnings of a few different bodies that came with unexpected statuses, by
// status. They show why the server failed.
type ErrorSamples map[int][]string

// Add adds the beginning of a body, unless there are enough samples for its status.
func (s *ErrorSamples) Add(status int, body []byte) {
	if len((*s)[status]) < maxSamples {
		s.add(status, Excerpt(body))
	}
}

// Merge adds other samples. It copies the map first, because the report that s was copied from shares it.
func (s *ErrorSamples) Merge(other ErrorSamples) {
	*s = maps.Clone(*s)
	for status, texts := range other {
		for _, text := range texts {
			s.add(status, text)
		}
	}
}

// add adds a text, unless it is empty or known or there are enough samples for its status.
func (s *ErrorSamples) add(status int, text string) {
	known := (*s)[status]
	if text == "" || len(known) == maxSamples || slices.Contains(known, text) {
		return
	}
	if *s == nil {
		*s = ErrorSamples{}
	}
	(*s)[status] = append(known, text)
}

// Sentences returns a sentence for each sample: "status 503 came with: busy".
func (s ErrorSamples) Sentences() []string {
	var all []string
	for _, status := range slices.Sorted(maps.Keys(s)) {
		for _, text := range s[status] {
			all = append(all, fmt.Sprintf("status %d came with: %s", status, text))
		}
	}
	return all
}

// Excerpt returns the beginning of a body on one line that can be printed, or "(not text)".
func Excerpt(body []byte) string {
	rest := ""
	if len(body) > sampleBytes {
		body, rest = body[:sampleBytes], "..."
		for range utf8.UTFMax {
			if utf8.Valid(body) {
				break
			}
			body = body[:len(body)-1] // a character was cut
		}
	}
	if !utf8.Valid(body) {
		return "(not text)"
	}
	text := strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, string(body))
	return strings.Join(strings.Fields(text), " ") + rest
}
