package event

import (
	"maps"
	"testing"

	"github.com/cleave-lab/cleave/backing/broker"
)

func TestPackedMessagesComeBack(t *testing.T) {
	for name, messages := range map[string][]broker.Message{
		"one":         {{ID: "1", Type: "a.b", Key: "k", Body: []byte("body")}},
		"empty texts": {{}},
		"headers":     {{ID: "1", Headers: map[string]string{"traceparent": "00-1", "": "x", "y": ""}}},
		"several": {{ID: "1", Body: []byte{0, 255}}, {ID: "2", Headers: map[string]string{"a": "b"}},
			{ID: "3", Key: string(make([]byte, 300))}},
	} {
		got, err := unpack(pack(messages))
		if err != nil || len(got) != len(messages) {
			t.Errorf("%s: %d messages of %d (%v)", name, len(got), len(messages), err)
			continue
		}
		for i, want := range messages {
			m := got[i]
			if m.ID != want.ID || m.Type != want.Type || m.Key != want.Key || string(m.Body) != string(want.Body) ||
				!maps.Equal(m.Headers, want.Headers) {
				t.Errorf("%s: message %d is %+v, want %+v", name, i, m, want)
			}
		}
	}
}

func TestWhatIsNoPackIsRefused(t *testing.T) {
	whole := pack([]broker.Message{{ID: "1", Type: "t", Body: []byte("body"),
		Headers: map[string]string{"a": "b"}}})
	for n := range len(whole) {
		if got, err := unpack(whole[:n]); err == nil {
			t.Errorf("%d of %d bytes are %+v", n, len(whole), got)
		}
	}
	for _, text := range [][]byte{{packVersion + 1, 0, 0, 0, 0, 0},
		{packVersion, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1}} {
		if got, err := unpack(text); err == nil {
			t.Errorf("%v is %+v", text, got)
		}
	}
}

// FuzzUnpack unpacks arbitrary rows: unpack ends, and messages that it returns can be
// packed again.
func FuzzUnpack(f *testing.F) {
	f.Add(pack([]broker.Message{{ID: "1", Type: "t", Key: "k", Body: []byte("body"),
		Headers: map[string]string{"a": "b"}}}))
	f.Fuzz(func(t *testing.T, text []byte) {
		messages, err := unpack(text)
		if err != nil {
			return
		}
		if again, err := unpack(pack(messages)); err != nil || len(again) != len(messages) {
			t.Errorf("%d messages became %d (%v)", len(messages), len(again), err)
		}
	})
}
