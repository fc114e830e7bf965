package plain

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"
)

// TestSeveralMayWrite: with --serve, the log of the page's server and the command write to standard error.
func TestSeveralMayWrite(t *testing.T) {
	const writers, lines = 4, 200
	var shown bytes.Buffer
	w := NewWriter(&shown)
	var running sync.WaitGroup
	for range writers {
		running.Go(func() {
			for range lines {
				fmt.Fprintln(w, "grün")
			}
		})
	}
	running.Wait()
	if got := strings.Count(shown.String(), "grün\n"); got != writers*lines {
		t.Errorf("%d whole lines, want %d", got, writers*lines)
	}
}

func TestNothingSteersTheTerminal(t *testing.T) {
	for written, want := range map[string]string{
		"one\ttwo\n":                 "one\ttwo\n",
		"\x1b]0;title\x07\x1b[2J":    `\u001b]0;title\u0007\u001b[2J`,
		"ok\rfailed\b\x00\x7f":       `ok\u000dfailed\u0008\u0000\u007f`,
		"8 bit \u009b2J \x9b2J":      `8 bit \u009b2J \x9b2J`,
		"grün 日本 😀":                  "grün 日本 😀",
		"\u202egnp.exe\u2066 \u2028": `\u202egnp.exe\u2066 \u2028`,
		"cut \xe6\x97":               `cut \xe6\x97`,
	} {
		if got := Text(written); got != want {
			t.Errorf("Text(%q) = %q, want %q", written, got, want)
		}
		for at := range len(written) + 1 { // in two pieces, wherever they are cut
			var shown bytes.Buffer
			w := NewWriter(&shown)
			for _, piece := range []string{written[:at], written[at:], "\n"} {
				if n, err := fmt.Fprint(w, piece); n != len(piece) || err != nil {
					t.Fatalf("wrote %d of %q: %v", n, piece, err)
				}
			}
			if got := shown.String(); got != want+"\n" {
				t.Errorf("%q cut at %d is shown as %q, want %q", written, at, got, want)
			}
		}
	}
}
