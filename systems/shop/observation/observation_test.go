package observation

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
)

func open(t testing.TB, dir, unit string) *Log {
	t.Helper()
	l, err := Open(dir, unit)
	testset.Must(t, err)
	return l
}

func shut(t testing.TB, l *Log) {
	t.Helper()
	testset.Must(t, l.Close())
}

func read(t *testing.T, dir string) Observations {
	t.Helper()
	o, err := Read(dir)
	testset.Must(t, err)
	return o
}

// TestNotesOfAllUnitsComeTogether: units write notes concurrently; of two notes of the same
// event the earlier one counts.
func TestNotesOfAllUnitsComeTogether(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "[1]") // a user's folder has any name
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	before := time.Now().UnixNano()
	one := open(t, dir, "orders-1")
	other := open(t, dir, "orderviews")
	var all sync.WaitGroup
	for worker := range 4 {
		all.Go(func() {
			for n := range 5000 {
				one.Final(strings.Repeat("o", 30) + string(rune('a'+worker)) + string(rune('0'+n%10)))
			}
		})
	}
	all.Wait()
	between := time.Now().UnixNano()
	other.Shown("order_views/o", 2, 1_700_000_000_000_001)
	other.Shown("order_views/o", 2, 1_700_000_000_000_001)
	shut(t, one)
	shut(t, other)
	o := read(t, dir)
	if len(o.Finals) != 40 || len(o.Showings) != 1 {
		t.Fatalf("%d final, %d shown; want 40 and 1", len(o.Finals), len(o.Showings))
	}
	text, err := os.ReadFile(File(dir, "orders-1"))
	testset.Must(t, err)
	whole := regexp.MustCompile(`(?m)^final o{30}[a-d]\d \d{19}$`).FindAll(text, -1)
	if lines := bytes.Count(text, []byte("\n")); len(whole) != 4*5000 || lines != len(whole) {
		t.Errorf("%d of %d lines are whole, want all of 20000", len(whole), lines)
	}
	for id, at := range o.Finals {
		if at < before || at > between {
			t.Errorf("order %s final at %d, want it between %d and %d", id, at, before, between)
		}
	}
	got := o.Showings[Change{"order_views/o", 2}]
	if got.Made != 1_700_000_000_000_001_000 || got.Shown < between {
		t.Errorf("showing %+v, want made at 1700000000000001000 and shown after %d", got, between)
	}
}

// TestTheFirstMomentCounts reads the notes of a unit before and after its restart.
func TestTheFirstMomentCounts(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a", "final o 1700000000000000002\nfinal o 1700000000000000001\nshown v 3 "+
		"1600000000000000000 1700000000000000009\n")
	write(t, dir, "b", "final o 1700000000000000003\nshown v 3 1600000000000000000 1700000000000000008\n")
	o := read(t, dir)
	if at := o.Finals["o"]; at != 1700000000000000001 {
		t.Errorf("final at %d, want the first, ...1", at)
	}
	if at := o.Showings[Change{"v", 3}].Shown; at != 1700000000000000008 {
		t.Errorf("shown at %d, want the first, ...8", at)
	}
}

// TestTornLinesAreLeftOut: a unit was killed in the midst of a line, and went on
// with the file when it was started again.
func TestTornLinesAreLeftOut(t *testing.T) {
	for name, torn := range map[string]string{
		"in the word": "fin", "in the order": "final 0199", "before the moment": "final o ",
		"in the moment":  "final torn 170000000000000000",
		"in the version": "shown v 1", "in the change": "shown v 1 1700000",
		"in the showing": "shown v 1 1700000000000000001 17000",
	} {
		dir := t.TempDir()
		write(t, dir, "orders", "final whole 1700000000000000001\n"+torn)
		again := open(t, dir, "orders")
		again.Final("later")
		shut(t, again)
		o := read(t, dir)
		if len(o.Finals) != 2 || o.Finals["whole"] == 0 || o.Finals["later"] == 0 || len(o.Showings) != 0 {
			t.Errorf("%s: final %v, shown %v; want whole and later", name, o.Finals, o.Showings)
		}
	}
}

func TestFoldersWithoutObservations(t *testing.T) {
	if o := read(t, t.TempDir()); len(o.Finals) != 0 {
		t.Errorf("%v from nowhere", o)
	}
	if _, err := Open(filepath.Join(t.TempDir(), "missing"), "u"); err == nil {
		t.Error("a file was opened in a directory that is not there")
	}
}

func write(t *testing.T, dir, unit, text string) {
	t.Helper()
	testset.Must(t, os.WriteFile(filepath.Join(dir, unit+extension), []byte(text), 0o600))
}

func BenchmarkFinal(b *testing.B) {
	l := open(b, b.TempDir(), "orders")
	b.ReportAllocs()
	for b.Loop() {
		l.Final("0199aaaa-0000-7000-8000-000000000001")
	}
	shut(b, l)
}

func BenchmarkFinalFromManyGoroutines(b *testing.B) {
	l := open(b, b.TempDir(), "orders")
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			l.Final("0199aaaa-0000-7000-8000-000000000001")
		}
	})
	shut(b, l)
}
