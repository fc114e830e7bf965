package record

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/cleave-lab/cleave/internal/testset"
)

// TestEnginesMergeWithoutLoss sends seconds as JSON lines, as agents do.
func TestEnginesMergeWithoutLoss(t *testing.T) {
	var lines bytes.Buffer
	here := NewResults(twoOperations())
	there := NewResults(twoOperations())
	encoder := json.NewEncoder(&lines)
	for i, second := range smallLoad(t) {
		second.Unsent(i%2, 5)
		testset.Must(t, here.Merge(second))
		testset.Must(t, encoder.Encode(second))
	}
	for decoder := json.NewDecoder(&lines); decoder.More(); {
		var second Results
		testset.Must(t, decoder.Decode(&second))
		testset.Must(t, there.Merge(&second))
	}
	offered := int64(615)
	want, err := json.Marshal(here.Summarize(3*time.Second, &offered))
	testset.Must(t, err)
	got, err := json.Marshal(there.Summarize(3*time.Second, &offered))
	testset.Must(t, err)
	if !bytes.Equal(got, want) || there.From != here.From || there.To != here.To {
		t.Errorf("after the journey\n%s\nbefore\n%s", got, want)
	}
}

func TestForeignResultsAreChecked(t *testing.T) {
	other := hdrhistogram.New(1, 1000, 3)
	coarse := hdrhistogram.New(lowest, highest, 2)
	ours := newHistogram()
	more := newHistogram()
	for _, h := range []*hdrhistogram.Histogram{other, coarse, ours, more, more} {
		testset.Must(t, h.RecordValue(5))
	}
	pack := func(h *hdrhistogram.Histogram) string {
		text, err := packed(h)
		testset.Must(t, err)
		return text
	}
	outcomesAre := func(text string) string {
		return `{"operations":[{"name":"a","outcomes":` + text + `}]}`
	}
	cases := []struct{ name, text, want string }{
		{"nothing", `{}`, "no operations"},
		{"twice", `{"operations":[{"name":"a"},{"name":"a"}]}`, "a name of its own"},
		{"negative", `{"operations":[{"name":"a","counts":{"Late":-1}}]}`, "negative counts"},
		{"unknown outcome", outcomesAre(`{"fine":["",""]}`), `outcome "fine" is unknown`},
		{"half", outcomesAre(`{"ok":["` + pack(ours) + `",""]}`), "differ in number"},
		{"one more", outcomesAre(`{"ok":["` + pack(ours) + `","` + pack(more) + `"]}`), "differ in number"},
		{"coarse", outcomesAre(`{"ok":["` + pack(coarse) + `","` + pack(coarse) + `"]}`), "with 2 digits, want"},
		{"broken", outcomesAre(`{"ok":["HIST",""]}`), "outcome ok: histogram"},
		{"another geometry", outcomesAre(`{"ok":["` + pack(other) + `","` + pack(ours) + `"]}`),
			"from 1 to 1000 ns"},
		{"lateness", `{"operations":[{"name":"a","lateness":"x"}]}`, "histogram"},
		{"not JSON", `[]`, "cannot unmarshal"},
	}
	for _, c := range cases {
		var r Results
		if err := json.Unmarshal([]byte(c.text), &r); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
}

func FuzzResults(f *testing.F) {
	f.Add([]byte(`{"operations":[{"name":"a","outcomes":{"ok":["",""]}}]}`))
	r := NewResults(twoOperations())
	r.Add(&Sample{Finished: time.Second})
	text, err := json.Marshal(r)
	testset.Must(f, err)
	f.Add(text)
	f.Fuzz(func(t *testing.T, text []byte) {
		var r Results
		if json.Unmarshal(text, &r) != nil {
			return
		}
		r.Summarize(time.Second, nil)
		testset.Must(t, r.Merge(&r))
	})
}
