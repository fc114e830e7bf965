package report

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/cleave-lab/cleave/lab"
)

// spaced shows a metric's name in words: "cpu per operation".
func spaced(name string) string { return strings.ReplaceAll(name, "_", " ") }

// sentenceCase sets a metric's name as the start of a heading.
func sentenceCase(name string) string { return capital(spaced(clean(name))) }

// capital begins a text with a capital letter.
func capital(name string) string {
	first, size := utf8.DecodeRuneInString(name)
	if size == 0 {
		return name
	}
	return string(unicode.ToUpper(first)) + name[size:]
}

// article returns a noun with its article: "an order".
func article(noun string) string {
	if noun != "" && strings.ContainsRune("aeiou", rune(noun[0])) {
		return "an " + noun
	}
	return "a " + noun
}

// shareWords names the operation that a path stands for.
func (v view) shareWords(share float64) string {
	switch share {
	case lab.PathMean:
		return "mean " + v.Operation
	case 0.5:
		return "median " + v.Operation
	default:
		return "p" + plainNumber(share*100) + " " + v.Operation
	}
}
