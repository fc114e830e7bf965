package record

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

func TestExcerptsArePrintable(t *testing.T) {
	long := strings.Repeat("é", 150) // 300 bytes; 200 end behind a letter
	for body, want := range map[string]string{
		"":                                 "",
		"busy":                             "busy",
		"<h1>\r\n\tno\x1b[31m room</h1>\n": "<h1> no[31m room</h1>",
		long:                               long[:200] + "...",
		"x" + long:                         "x" + long[:198] + "...", // a letter is cut
		"\x1f\x8b\x08\xff":                 "(not text)",
	} {
		if got := Excerpt([]byte(body)); got != want {
			t.Errorf("%q is shown as %q, want %q", body, got, want)
		}
	}
}

func TestAFewBodiesOfEveryStatusAreKept(t *testing.T) {
	var one, other Said
	for i := range 9 {
		one.Hear(503, fmt.Appendf(nil, "busy %d", i/2))
	}
	one.Hear(404, nil)
	other.Hear(503, []byte("busy 7"))
	other.Hear(500, []byte("broken"))
	one.Merge(other)
	if words, want := one.Words(), "status 500 came with: broken"; len(words) != 4 || words[0] != want {
		t.Errorf("in words %q, want %q first", words, want)
	}
	want := Said{503: {"busy 0", "busy 1", "busy 2"}, 500: {"broken"}}
	if !reflect.DeepEqual(one, want) {
		t.Errorf("kept %v, want %v", one, want)
	}
}

func TestAStallOfAClosedLoopIsTold(t *testing.T) {
	at := func(seconds float64) *float64 { return &seconds }
	closed := &ClosedLoop{Users: 2}
	for name, c := range map[string]struct {
		s    Summary
		want bool
	}{
		"a stall": {Summary{Closed: closed, Duration: 10,
			ServiceTime: Percentiles{P99: at(0.01), Max: at(2)}}, true},
		"an open loop": {Summary{Duration: 10, ServiceTime: Percentiles{P99: at(0.01), Max: at(2)}}, false},
		"a heavy tail": {Summary{Closed: closed, Duration: 10,
			ServiceTime: Percentiles{P99: at(0.3), Max: at(2)}}, false},
		"short for a load": {Summary{Closed: closed, Duration: 300,
			ServiceTime: Percentiles{P99: at(0.01), Max: at(2)}}, false},
		"nothing was timed": {Summary{Closed: closed, Duration: 10}, false},
	} {
		if got := c.s.Stall(); strings.HasPrefix(got,
			"one operation took 2 s, 200 times the 99th percentile") != c.want || (got != "") != c.want {
			t.Errorf("%s: %q, want a stall told: %t", name, got, c.want)
		}
	}
}
