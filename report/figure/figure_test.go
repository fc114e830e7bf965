package figure

import (
	"math"
	"testing"

	"github.com/cleave-lab/cleave/lab"
)

func at(v float64) *float64 { return &v }

func TestNumbersAreRoundedByTheirInterval(t *testing.T) {
	tests := []struct {
		name, got, want string
	}{
		{"ratio", Times(Between(3.68113, 3.5171, 3.8528)), "3.68x [3.52, 3.85]"},
		{"wide ratio", Times(Between(1083.033, 882.2, 1401.9)), "1080x [880, 1400]"},
		{"no interval", Times(Alone(1083.033)), "1080x"},
		{"half an interval", Times(lab.Estimate{Value: 1083.033, Low: at(3)}), "1080x"},
		{"interval without width", Number(Between(2, 2, 2)), "2.00 [2.00, 2.00]"},
		{"endless interval", Number(Between(2, 1, math.Inf(1))), "2.00"},
		{"exponent", Number(Between(1.17204, 1.1103, 1.2338)), "1.17 [1.11, 1.23]"},
		{"no interval of its own", Times(Between(6, 6, 6)), "6.00x [6.00, 6.00]"},
		{"narrow interval", Times(Between(1.35043, 1.34397, 1.35692)), "1.35x [1.34, 1.36]"},
		{"seconds", Quantity(Between(32.664, 31.58, 33.745), "s"), "32.7 s [31.6, 33.7]"},
		{"difference near 0", Difference(Between(-2e-6, -0.003, 0.003), "s"), "0.0 ms [-3.0, 3.0]"},
		{"clear difference", Difference(Between(0.0042, 0.0038, 0.0046), "s"), "4.20 ms [3.80, 4.60]"},
		{"difference without an interval", Difference(Alone(0.0042), "s"), "4.20 ms"},
		{"nanoseconds", Amount(24.64e-9, "s"), "24.6 ns"},
		{"almost a millisecond", Amount(0.00099996, "s"), "1.00 ms"},
		{"bytes", Amount(512, "B"), "512 B"},
		{"mebibytes", Amount(3.5*(1<<20), "B"), "3.50 MiB"},
		{"mebibytes per second", Amount(3.5*(1<<20), "B/s"), "3.50 MiB/s"},
		{"plain", Amount(12.345, "1"), "12.3"},
		{"other unit", Amount(12.345, "orders/s"), "12.3 orders/s"},
		{"nothing", Amount(0, "s"), "0.00 s"},
		{"no negative nothing", Number(Between(-0.0001, -0.5, 0.5)), "0.00 [-0.50, 0.50]"},
		{"not a number", Number(Alone(math.NaN())), Absent},
		{"share", Percent(0.01234), "1.2 %"},
		{"large share", Percent(0.956), "96 %"},
		{"tiny share", Percent(0.000123), "0.012 %"},
		{"no share", Percent(math.Inf(1)), Absent},
	}
	for _, test := range tests {
		if test.got != test.want {
			t.Errorf("%s: %q, want %q", test.name, test.got, test.want)
		}
	}
}

func TestAndJoinsWords(t *testing.T) {
	for want, words := range map[string][]string{"": nil, "a": {"a"}, "a and b": {"a", "b"},
		"a, b and c": {"a", "b", "c"}} {
		if got := And(words); got != want {
			t.Errorf("And(%q) = %q, want %q", words, got, want)
		}
	}
}

// TestChangesWithoutARatioHaveTheirVerdict: from 0 there is no ratio.
func TestChangesWithoutARatioHaveTheirVerdict(t *testing.T) {
	risen := lab.Change{Variant: "sync", Point: "calm", Words: "more: from 0"}
	twice := lab.Change{Variant: "async", Point: "calm", Ratio: lab.Ratio{Ratio: 2}, Words: "slower"}
	lost := lab.Change{Variant: "third"}
	const want = "sync at calm, more: from 0; async at calm, 2.00x; third, which is not compared"
	if got := Changes([]lab.Change{risen, twice, lost}); got != want || ChangeRatio(risen) != Absent {
		t.Errorf("%q, want %q; the ratio is %q", got, want, ChangeRatio(risen))
	}
}
