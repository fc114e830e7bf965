package lab

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestAPointHasOneOfSeveralFactors(t *testing.T) {
	for name, c := range map[string]struct {
		levels  map[string]float64
		factor  string
		level   float64
		problem string // part of the error; empty: none
	}{
		"the first":     {map[string]float64{"rate": 12.5}, "rate", 12.5, ""},
		"the last":      {map[string]float64{"users": 4}, "users", 4, ""},
		"beside others": {map[string]float64{"users": 4, "workers": 2}, "users", 4, ""},
		"two": {map[string]float64{"rate": 1, "users": 4}, "", 0,
			"point p (rate 1, users 4) has both rate and users: choose one"},
		"two, one 0": {map[string]float64{"rate": 0, "users": 4}, "", 0, "has both rate and users"},
		"none": {map[string]float64{"workers": 2}, "", 0,
			"point p (workers 2) needs one of rate, users, and above zero"},
		"zero":       {map[string]float64{"rate": 0}, "", 0, "needs one of rate, users, and above zero"},
		"below zero": {map[string]float64{"rate": -1}, "", 0, "needs one of rate, users, and above zero"},
	} {
		t.Run(name, func(t *testing.T) {
			factor, level, err := Point{Name: "p", Levels: c.levels}.Only("rate", "users")
			if factor != c.factor || level != c.level {
				t.Errorf("%q at %g, want %q at %g", factor, level, c.factor, c.level)
			}
			if (err == nil) != (c.problem == "") || err != nil && !strings.Contains(err.Error(), c.problem) {
				t.Errorf("error %v, want %q", err, c.problem)
			}
		})
	}
}

// TestAPointIsANameAndNumbers: a level is never called name, since points are flat objects.
func TestAPointIsANameAndNumbers(t *testing.T) {
	for text, problem := range map[string]string{`{"name": "s1", "workers": 10}`: "",
		`{"name": 5}`: "its name is 5, want a text", `{"workers": "ten"}`: `"workers" is "ten", want a number`,
		`{"workers": null}`: `"workers" is <nil>, want a number`} {
		var p Point
		err := json.Unmarshal([]byte(text), &p)
		if (err == nil) != (problem == "") || err != nil && !strings.Contains(err.Error(), problem) {
			t.Errorf("%s: %v, want %q", text, err, problem)
		}
	}
}
