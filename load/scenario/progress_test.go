package scenario

import (
	"strings"
	"testing"
)

func TestEveryLoadHasKeysOfItsOwn(t *testing.T) {
	file := &File{
		Schema: Schema, Name: "keys", Values: map[string]Value{"key": {UUID: &struct{}{}}},
		Flows: []Flow{{Name: "one", Steps: []Step{{Request: "GET /${key}"}}}},
	}
	plan := compiled(t, file, "")
	seen := map[string]bool{}
	for _, at := range []Origin{{}, {After: Progress{Loads: 1}}, {After: Progress{Loads: 2}}, {Part: 1, Of: 2},
		{Part: 1, Of: 2, After: Progress{Loads: 1}}} {
		player := plan.Player(at)
		session := &Session{}
		for range 10 {
			player.Begin(session)
			if request := string(session.HTTP1()); seen[request] {
				t.Errorf("load %d of part %d repeats %q", at.After.Loads, at.Part, request)
			} else {
				seen[request] = true
			}
		}
	}
}

// TestEveryLoadGoesOn: sequences and rows continue where the loads before have ended, in every part.
func TestEveryLoadGoesOn(t *testing.T) {
	folder := t.TempDir()
	from := int64(10)
	write(t, folder, "d.csv", "name\n"+strings.Join([]string{"a", "b", "c", "d", "e", "f", "g", "h"}, "\n"))
	file := Single(Step{Request: "GET /${n}/${d.name}"})
	file.Values = map[string]Value{"n": {Sequence: &from}}
	file.Data = map[string]Data{"d": {CSV: "d.csv"}}
	plan := compiled(t, file, folder)
	var after Progress
	got := ""
	session := new(Session)
	for load, flows := range [][2]int{{1, 0}, {2, 1}, {1, 1}} { // of each part
		after.Loads = load
		most := after.Taken
		for part, n := range flows {
			player := plan.Player(Origin{Host: "h", Part: part, Of: 2, After: after})
			for range n {
				player.Begin(session)
				got += session.Call().Path + " "
			}
			most = max(most, player.Taken())
		}
		after.Taken = most
	}
	if want := "/10/a /12/c /14/e /13/d /16/g /17/h "; got != want {
		t.Errorf("took %s, want %s", got, want)
	}
}
