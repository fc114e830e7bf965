package objective

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/load/record"
)

// measured returns a load of 1,000 operations, 990 of them achieved.
func measured() record.Summary {
	return record.Summary{
		OfferedRate: new(100.0), AchievedRate: 99, Sent: 1000, OK: 998, Unsent: 3, Late: 20,
		Errors: map[string]int64{"timeout": 1, "refused": 1},
		ResponseTime: record.Percentiles{P50: new(0.010), P90: new(0.020), P95: new(0.025), P99: new(0.050),
			Max: new(1.5), Mean: new(0.012)},
		ServiceTime: record.Percentiles{P50: new(0.009), P99: new(0.011)},
	}
}

func TestParse(t *testing.T) {
	cases := []struct {
		text string
		want []Term
	}{
		{"p99<50ms,errors<0.1%", []Term{{Metric: "p99", Op: "<", Limit: 0.05},
			{Metric: "errors", Op: "<", Limit: 0.001}}},
		{" p50 <= 5ms , achieved >= 99 % ", []Term{{Metric: "p50", Op: "<=", Limit: 0.005},
			{Metric: "achieved", Op: ">=", Limit: 0.99}}},
		{"p999<1s", []Term{{Metric: "p99.9", Op: "<", Limit: 1}}},
		{"p99.9<1m", []Term{{Metric: "p99.9", Op: "<", Limit: 60}}},
		{"service.p999>200us", []Term{{Metric: "service.p99.9", Op: ">", Limit: 0.0002}}},
		{"unsent<=0", []Term{{Metric: "unsent", Op: "<=", Limit: 0}}},
		{"late<2%", []Term{{Metric: "late", Op: "<", Limit: 0.02, Share: true}}},
		{"errors<=0.001", []Term{{Metric: "errors", Op: "<=", Limit: 0.001}}},
		{"rate>300/m", []Term{{Metric: "rate", Op: ">", Limit: 5}}},
		{"rate>=5000", []Term{{Metric: "rate", Op: ">=", Limit: 5000}}},
	}
	for _, c := range cases {
		got, err := Parse(c.text)
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		same := slices.EqualFunc(got.Terms, c.want, func(a, b Term) bool {
			return a.Metric == b.Metric && a.Op == b.Op && a.Limit == b.Limit && a.Share == b.Share
		})
		if !same {
			t.Errorf("%q = %+v, want %+v", c.text, got.Terms, c.want)
		}
	}
}

func TestMistakesHaveColumns(t *testing.T) {
	cases := []struct {
		text string
		want []string // beginnings of the messages
	}{
		{"", []string{"column 1: no metric"}},
		{"p99<50ms,", []string{"column 10: no metric"}},
		{"p98<50ms", []string{`column 1: unknown metric "p98": use one of errors`}},
		{"p99", []string{"column 4: no comparison after p99"}},
		{"p99 == 3ms", []string{`column 5: unknown comparison "=="`}},
		{"p99<50", []string{`column 5: "50" is not a time`}},
		{"p99<0", []string{`column 5: "0" is not a time`}},
		{"p99<-1ms", []string{`column 5: "-1ms" is negative`}},
		{"p99<", []string{`column 5: "" is not a time`}},
		{"errors<0.1ms", []string{`column 8: "0.1ms" is not a share`}},
		{"errors<NaN", []string{`column 8: "NaN" is not a share`}},
		{"achieved>=99", []string{`column 11: "99" is more than 100 %`}},
		{"unsent<0.5", []string{`column 8: "0.5" is neither a whole number nor a share`}},
		{"rate>5/d", []string{`column 6: rate "5/d": unknown unit`}},
		{"p99<50ms;errors<1%", []string{`column 5: "50ms;errors<1%" is not a time`}},
		{"système<1, p99<x ,errors!1%,p50<1ms", []string{"column 1: unknown metric", `column 16: "x" is not a time`,
			`column 25: unknown comparison "!"`}},
		{strings.Repeat("p99<1s,", 60), []string{"column 1: 61 conditions are too many"}},
		{strings.Repeat(" ", 1001), []string{"column 1: 1001 bytes are too long"}},
	}
	for _, c := range cases {
		_, err := Parse(c.text)
		if err == nil {
			t.Errorf("%q: no error", c.text)
			continue
		}
		lines := strings.Split(err.Error(), "\n")
		same := slices.EqualFunc(lines, c.want, func(got, want string) bool {
			return strings.HasPrefix(got, "objective, "+want)
		})
		if !same {
			t.Errorf("%q:\n%s\nwant\n%s", c.text, err, strings.Join(c.want, "\n"))
		}
		var mistake *Mistake
		if !errors.As(err, &mistake) || mistake.Column < 1 {
			t.Errorf("%q: no column in %v", c.text, err)
		}
	}
}

func TestJudge(t *testing.T) {
	cases := []struct {
		text string
		want []string // reasons; none: it passes
	}{
		{"p99<=50ms,errors<=0.2%,achieved>=99%,mean<13ms,max<2s,rate>98", nil},
		{"p99<50ms", []string{"p99 is 50ms, objective p99<50ms"}},
		{"errors<0.2%", []string{"errors is 0.2%, objective errors<0.2%"}},
		{"achieved > 99%", []string{"achieved is 99%, objective achieved>99%"}},
		{"max<1s", []string{"max is 1.5s, objective max<1s"}},
		{"p99.9<1s", []string{"p99.9<1s cannot be checked: it needs at least 3000 operations"}},
		{"service.p99<50ms,service.p50>9ms", []string{"service.p50 is 9ms, objective service.p50>9ms"}},
		{"unsent<=0", []string{"unsent is 3, objective unsent<=0"}},
		{"unsent<0.3%,unsent<=3", nil},
		{"unsent<0.2%", []string{"unsent is 0.2991%, objective unsent<0.2%"}},
		{"late<20", []string{"late is 20, objective late<20"}},
		{"rate>=6000/m,p50>=10ms,p90<1ms", []string{"rate is 99/s, objective rate>=6000/m",
			"p90 is 20ms, objective p90<1ms"}},
	}
	for _, c := range cases {
		o := MustParse(c.text)
		s := measured()
		pass, reasons := o.Judge(&s)
		if pass != (len(c.want) == 0) || !slices.Equal(reasons, c.want) {
			t.Errorf("%q: %v, %q, want %q", c.text, pass, reasons, c.want)
		}
	}
}

func TestNothingMeasuredMeetsNothing(t *testing.T) {
	for _, text := range []string{"p99<1s", "errors<=100%", "achieved>=0%", "service.mean<1h"} {
		o := MustParse(text)
		if pass, reasons := o.Judge(&record.Summary{}); pass || !strings.Contains(reasons[0], "cannot be checked") {
			t.Errorf("%q: %v, %q", text, pass, reasons)
		}
	}
}

func TestDefaults(t *testing.T) {
	cases := []struct{ text, want string }{
		{"p99<50ms", "p99<50ms,errors<=0.1%,achieved>=99%,unsent<=0"},
		{"p99 < 50ms, errors < 2%", "p99<50ms,errors<2%,achieved>=99%,unsent<=0"},
		{"unsent<=5,achieved>90%,errors<1%", "unsent<=5,achieved>90%,errors<1%"},
	}
	for _, c := range cases {
		o := MustParse(c.text)
		if got := o.WithDefaults().String(); got != c.want {
			t.Errorf("%q with defaults = %q, want %q", c.text, got, c.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"p99<50ms,errors<0.1%", "service.p999>=1h , late<1%", "unsent<=0,rate>1/m",
		"p99<<1ms", "\xff<1ms", "errors<1e400%"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		o, err := Parse(text)
		if err != nil {
			var mistake *Mistake
			if !errors.As(err, &mistake) || mistake.Column < 1 || mistake.Column > len(text)+1 {
				t.Fatalf("%q: mistake %v outside", text, err)
			}
			return
		}
		again, err := Parse(o.String())
		if err != nil || again.String() != o.String() || len(again.Terms) != len(o.Terms) {
			t.Fatalf("%q became %q, which is %q, %v", text, o, again, err)
		}
		s := measured()
		o.Judge(&s)
	})
}

func TestTheLongestTimeOfAnObjective(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"p99<50ms":                50 * time.Millisecond,
		"p50<10ms,service.p99<2s": 2 * time.Second,
		"p50>10ms,errors<1%":      time.Minute, // a lower limit bounds no time
	} {
		o := MustParse(text)
		if got := o.LongestTime(time.Minute); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}
