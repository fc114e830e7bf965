package engine

import (
	"reflect"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/load/record"
)

// TestMergeForgetsNothing: after a merge with a report in which everything is 1, every field has changed.
func TestMergeForgetsNothing(t *testing.T) {
	start := time.Unix(100, 0)
	a := Report{Start: start, Stopped: "a", Statuses: map[int]int64{200: 1}, Skipped: []int64{1},
		Ended: []int64{1, 2, 3}}
	b := Report{
		Start: start.Add(-time.Second), Window: 1, Elapsed: 1, ThreadCPU: 1, Unsent: 1, UnsentBecause: "x",
		Stopped: "b", HeldBack: 1, Cut: 1,
		Skipped: []int64{1, 1}, Statuses: map[int]int64{200: 1, 500: 1}, Connects: 1, Received: 1, Unsolicited: 1,
		BusyTime: 1, PauseTime: 1, UserTime: 1, Ended: []int64{1, 1}, Example: "x",
		ErrorSamples: record.ErrorSamples{500: {"x"}},
	}
	for field := range reflect.TypeFor[Report]().Fields() {
		if reflect.ValueOf(b).FieldByIndex(field.Index).IsZero() {
			t.Errorf("this test has no value for %s", field.Name)
		}
	}
	before := a
	a.Merge(&b)
	for field := range reflect.TypeFor[Report]().Fields() {
		was := reflect.ValueOf(before).FieldByIndex(field.Index).Interface()
		is := reflect.ValueOf(a).FieldByIndex(field.Index).Interface()
		if reflect.DeepEqual(was, is) {
			t.Errorf("%s is not merged: %v", field.Name, is)
		}
	}
	if !reflect.DeepEqual(a.Ended, []int64{2, 3}) || a.Stopped != "a; b" ||
		!reflect.DeepEqual(a.Statuses, map[int]int64{200: 2, 500: 1}) || before.Statuses[200] != 1 {
		t.Errorf("merged: %+v", a)
	}
	again := a
	again.Merge(&b)
	if again.Stopped != "a; b" {
		t.Errorf("the same reason twice: %q", again.Stopped)
	}
}
