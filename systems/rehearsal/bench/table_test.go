//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/predict"
	"github.com/cleave-lab/cleave/stats"
)

// TestTheTableSaysHowFarOff: errors, intervals that hold the truth and those that do not, figures and answers
// that would be withheld, and rows that lack something. Intervals are widened by the past of other systems.
func TestTheTableSaysHowFarOff(t *testing.T) {
	figure := func(value float64) stats.Estimate {
		return stats.Estimate{Value: value, Low: 0.95 * value, High: 1.05 * value}
	}
	answered := func(median float64, withheld ...string) *predict.Answer {
		return &predict.Answer{Withheld: withheld, Changed: predict.Outcome{Median: figure(median),
			P99: figure(0.02), CPU: figure(0.001), Capacity: figure(450)}}
	}
	is := truth{predict.FigureMedian: 0.01, predict.FigureP99: 0.025, predict.FigureCPU: 0.001}
	most := maps.Clone(is)
	most[predict.FigureCapacity] = 500
	shop := subject{system: "shop", from: "together"}
	a := target{placement: "a"}
	b := target{placement: "b+c,d", merge: "b,c"}
	rows := []row{
		{of: shop, target: a, rate: 20, answer: answered(0.0102), measured: is,
			rehearsed: truth{predict.FigureMedian: 0.011, predict.FigureP99: 0.02, predict.FigureCPU: 0.001}},
		{of: shop, target: a, rate: 40, answer: answered(0.012, "used too far"), measured: most},
		{of: shop, target: b, rate: 20, answer: answered(0.01)},
		{of: shop, target: b, rate: 40, unanswered: "it cannot keep up", measured: is},
	}
	rows[2].answer.CapacityWithheld = true
	past := predict.Past{{System: "people", Beyond: map[string]float64{predict.FigureMedian: 0.2}},
		{System: "shop", Beyond: map[string]float64{predict.FigureP99: 9}}}
	var text strings.Builder
	if err := publish(&text, filepath.Join(t.TempDir(), "out.json"), rows, past); err != nil {
		t.Fatal(err)
	}
	table := strings.Join(strings.Fields(text.String()), " ")
	for _, want := range []string{
		"shop-together a 20/s 10.0 ms 10.2 ms (+2 %) + 11.0 ms (+10 %) 25.0 ms 20.0 ms (-20 %) - 20.0 ms (-20 %)",
		"a 40/s 10.0 ms 12.0 ms (+20 %) + -", "used too far",
		"[450/s]", "shop-together b,c together 20/s - 10.0 ms -",
		"it cannot keep up",
		"500/s 450/s (-10 %) -", "predicted capacity, absolute error 0.1 0.1 0.1 1 1 <= 0.12",
		"predicted median, absolute error 0.11 0.02 0.2 1 2 <= 0.15",
		"predicted median, absolute error where cleave predict answers 0.02 0.02 0.02 1 1 <= 0.15",
		"rehearsed median, absolute error 0.1 0.1 0.1 1 1 <= 0.12",
		"intervals of the median that hold the truth where it answers 1 1 1 1 1 >= 0.85",
	} {
		if !strings.Contains(table, want) {
			t.Errorf("the table lacks %q:\n%s", want, text.String())
		}
	}
}

// TestWhatIsMetIsKept checks that the past holds what was predicted and measured, and nothing that cleave
// predict would withhold.
func TestWhatIsMetIsKept(t *testing.T) {
	e := stats.Estimate{Value: 2, Low: 1, High: 4}
	answer := func(withheld ...string) *predict.Answer {
		return &predict.Answer{Withheld: withheld, TailWithheld: true,
			Changed: predict.Outcome{Median: e, P99: e, CPU: e, Capacity: e}}
	}
	is := truth{predict.FigureMedian: 8, predict.FigureP99: 8, predict.FigureCPU: 1}
	all := pastPredictions([]row{{of: subject{system: "shop", from: "together"}, target: target{placement: "a"},
		rate: 20, answer: answer(), measured: is}, {answer: answer("used too far"), measured: is}, {measured: is}})
	want := predict.Past{{System: "shop", Change: "shop-together: a", Rate: 20,
		Beyond: map[string]float64{predict.FigureMedian: 0.6931, predict.FigureCPU: 0}}}
	if !reflect.DeepEqual(all, want) {
		t.Errorf("%+v is kept, want %+v", all, want)
	}
	path := filepath.Join(t.TempDir(), "past.json")
	if err := writePast(path, all); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	var read predict.Past
	if err = errors.Join(err, json.Unmarshal(text, &read)); err != nil || !reflect.DeepEqual(read, want) {
		t.Errorf("%s is read as %+v, %v", text, read, err)
	}
}
