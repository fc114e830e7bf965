package record

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

func TestExcerptsArePrintable(t *testing.T) {
	long := strings.Repeat("é", 150) // 300 bytes; byte 200 is the last of a letter
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
	var one, other ErrorSamples
	for i := range 9 {
		one.Add(503, fmt.Appendf(nil, "busy %d", i/2))
	}
	one.Add(404, nil)
	other.Add(503, []byte("busy 7"))
	other.Add(500, []byte("broken"))
	one.Merge(other)
	if got, want := one.Sentences(), "status 500 came with: broken"; len(got) != 4 || got[0] != want {
		t.Errorf("sentences %q, want %q first", got, want)
	}
	want := ErrorSamples{503: {"busy 0", "busy 1", "busy 2"}, 500: {"broken"}}
	if !reflect.DeepEqual(one, want) {
		t.Errorf("kept %v, want %v", one, want)
	}
}
