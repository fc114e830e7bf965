package record

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of what is kept of bodies, so that a target that fails a million times in its
// own words costs no memory.
const (
	mostSaid  = 3   // texts for a status
	saidBytes = 200 // of a body
)

// Said are the beginnings of bodies that came with statuses nobody expected, by status: a
// few that differ. They tell why.
type Said map[int][]string

// Hear keeps the beginning of a body, unless enough is known of its status.
func (s *Said) Hear(status int, body []byte) {
	if len((*s)[status]) < mostSaid {
		s.add(status, Excerpt(body))
	}
}

// Merge adds what somebody else has heard.
func (s *Said) Merge(other Said) {
	*s = maps.Clone(*s)
	for status, texts := range other {
		for _, text := range texts {
			s.add(status, text)
		}
	}
}

func (s *Said) add(status int, text string) {
	if text == "" || len((*s)[status]) == mostSaid || slices.Contains((*s)[status], text) {
		return
	}
	if *s == nil {
		*s = Said{}
	}
	(*s)[status] = append((*s)[status], text)
}

// Words returns what was said, one text each: "status 503 came with: busy".
func (s Said) Words() []string {
	var all []string
	for _, status := range slices.Sorted(maps.Keys(s)) {
		for _, text := range s[status] {
			all = append(all, fmt.Sprintf("status %d came with: %s", status, text))
		}
	}
	return all
}

// Excerpt returns the beginning of a body on one line that can be printed. What is not text is
// only called so.
func Excerpt(body []byte) string {
	rest := ""
	if len(body) > saidBytes {
		body, rest = body[:saidBytes], "..."
		for i := 0; i < utf8.UTFMax && len(body) > 0 && !utf8.Valid(body); i++ {
			body = body[:len(body)-1] // a letter was cut
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
