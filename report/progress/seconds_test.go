package progress

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/lab"
)

// TestSecondsOfATrial: the file holds the seconds of one attempt, and stays small.
func TestSecondsOfATrial(t *testing.T) {
	name := filepath.Join(t.TempDir(), "seconds.jsonl")
	file, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	s := NewSeconds(file)
	lines := func(want int) []SecondLine {
		t.Helper()
		var all []SecondLine
		for range 10_000 {
			time.Sleep(time.Millisecond)
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			all = nil
			for line := range strings.Lines(string(text)) {
				var read SecondLine
				if strings.HasSuffix(line, "\n") && json.Unmarshal([]byte(line), &read) == nil {
					all = append(all, read)
				}
			}
			if len(all) == want {
				return all
			}
		}
		t.Fatalf("there are %d lines, want %d", len(all), want)
		return nil
	}
	s.Trial(3, 1)
	s.Loaded(lab.LoadSecond{Slice: lab.Slice{End: 1, OK: 5}, Failed: 2})
	s.Used(lab.UsedSecond{End: 1, Cores: map[string]float64{"orders": 0.5}})
	first := lines(2)
	if first[0].Trial != 3 || first[0].Loaded.Failed != 2 || first[1].Used.Cores["orders"] != 0.5 {
		t.Errorf("the seconds are %+v", first)
	}
	s.Trial(3, 2)
	s.Loaded(lab.LoadSecond{Slice: lab.Slice{End: 1}})
	if second := lines(1); second[0].Attempt != 2 {
		t.Errorf("the seconds of the next attempt are %+v", second)
	}
	for range 100 { // the file may exceed its limit by one line
		s.Used(lab.UsedSecond{Cores: map[string]float64{strings.Repeat("x", mostBytes/10): 1}})
		about, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if about.Size() > 2*mostBytes {
			t.Fatalf("the file has %d bytes, want %d at most", about.Size(), 2*mostBytes)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	s.Loaded(lab.LoadSecond{}) // a late second must not panic
}
