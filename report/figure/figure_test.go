package figure

import (
	"math"
	"testing"
)

func at(v float64) *float64 { return &v }

func TestNumbersAreRoundedByTheirInterval(t *testing.T) {
	tests := []struct {
		name, got, want string
	}{
		{"ratio", Times(3.68113, at(3.5171), at(3.8528)), "3.68x [3.52, 3.85]"},
		{"wide ratio", Times(1083.033, at(882.2), at(1401.9)), "1080x [880, 1400]"},
		{"no interval", Times(1083.033, nil, nil), "1080x"},
		{"half an interval", Times(1083.033, at(3), nil), "1080x"},
		{"interval without width", Number(2, at(2), at(2)), "2.00 [2.00, 2.00]"},
		{"endless interval", Number(2, at(1), at(math.Inf(1))), "2.00"},
		{"exponent", Number(1.17204, at(1.1103), at(1.2338)), "1.17 [1.11, 1.23]"},
		{"no interval of its own", Times(6, at(6), at(6)), "6.00x [6.00, 6.00]"},
		{"narrow interval", Times(1.35043, at(1.34397), at(1.35692)), "1.35x [1.34, 1.36]"},
		{"seconds", Quantity(32.664, at(31.58), at(33.745), "s"), "32.7 s [31.6, 33.7]"},
		{"nanoseconds", Quantity(24.64e-9, nil, nil, "s"), "24.6 ns"},
		{"almost a millisecond", Quantity(0.00099996, nil, nil, "s"), "1.00 ms"},
		{"bytes", Quantity(512, nil, nil, "B"), "512 B"},
		{"mebibytes", Quantity(3.5*(1<<20), nil, nil, "B"), "3.50 MiB"},
		{"mebibytes per second", Quantity(3.5*(1<<20), nil, nil, "B/s"), "3.50 MiB/s"},
		{"plain", Quantity(12.345, nil, nil, "1"), "12.3"},
		{"other unit", Quantity(12.345, nil, nil, "orders/s"), "12.3 orders/s"},
		{"nothing", Quantity(0, nil, nil, "s"), "0.00 s"},
		{"no negative nothing", Number(-0.0001, at(-0.5), at(0.5)), "0.00 [-0.50, 0.50]"},
		{"not a number", Number(math.NaN(), nil, nil), Absent},
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
