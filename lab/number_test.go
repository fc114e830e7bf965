package lab

import (
	"math"
	"testing"
)

func TestPlainNumbers(t *testing.T) {
	for value, want := range map[float64]string{
		196.83333333333331: "196.8", 5000.0 / 60: "83.33", 12345: "12345", 12345.678: "12346", 1e6: "1000000",
		0.5: "0.5", 1.0 / 6: "0.1667", 100: "100", 0: "0", -2.5: "-2.5", 1e-7: "0.0000001", 62.25: "62.25",
		math.Inf(1): "+Inf",
	} {
		if got := Plain(value); got != want {
			t.Errorf("%v is written %q, want %q", value, got, want)
		}
	}
}
