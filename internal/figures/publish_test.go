package figures

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

var update = flag.Bool("update", false, "write the golden files anew")

// sampleFigures returns figures with and without goals, and with units that are scaled or not.
func sampleFigures() []Figure {
	note := Figure{Figure: "ours / theirs", Value: 0.48, Low: 0.44, High: 0.52, Unit: "1", N: 8,
		Better: lab.LowerIsBetter, Note: "a over b"}
	return []Figure{
		{Figure: "a call", Value: 45e-9, Low: 40e-9, High: 0.1e-6, Unit: "s", N: 3, Better: lab.LowerIsBetter},
		Figure{Figure: "a mark", Value: 0.5e-3, Low: 0.25e-3, High: 1e-3, Unit: "s", N: 5,
			Better: lab.LowerIsBetter}.To(Goal{20e-3, 1e-4}),
		note.To(Goal{1.1, 0.7}),
		Figure{Figure: "orders", Value: 2214.19, Low: 2132.57, High: 9999.97, Unit: "orders/s", N: 6,
			Better: lab.HigherIsBetter}.To(Goal{12500, 15000}),
	}
}

func TestTable(t *testing.T) {
	for name, figures := range map[string][]Figure{
		"with-notes": sampleFigures(), "without-notes": sampleFigures()[:2], "of-nothing": nil,
	} {
		var out bytes.Buffer
		printTable(&out, figures)
		golden(t, "table-"+name+".txt", out.Bytes())
	}
}

func TestPublish(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results", "bench", "shop.json")
	var out bytes.Buffer
	testset.Must(t, Publish(&out, path, sampleFigures()))
	if want := "\nfigures written to " + path + "\n"; !bytes.HasSuffix(out.Bytes(), []byte(want)) ||
		!bytes.HasPrefix(out.Bytes(), []byte("figure  ")) {
		t.Errorf("printed:\n%s\nwant the table, then %q", out.String(), want)
	}
	written, err := os.ReadFile(path)
	testset.Must(t, err)
	golden(t, "figures.json", written)
}

// TestFilesOfFigures checks that writeJSON writes an empty list if there are no figures, and that Publish
// fails if the file cannot be written.
func TestFilesOfFigures(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	testset.Must(t, writeJSON(file, nil))
	if written, err := os.ReadFile(file); err != nil || string(written) != "[]\n" {
		t.Errorf("no figures: %q, %v, want an empty list", written, err)
	}
	for _, path := range []string{filepath.Join(file, "shop.json"), filepath.Dir(file)} {
		if err := Publish(&bytes.Buffer{}, path, sampleFigures()); err == nil {
			t.Errorf("written to %s", path)
		}
	}
}

// golden compares a text with a file of testdata, or writes it with -update.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		testset.Must(t, os.WriteFile(path, got, 0o644))
	}
	want, err := os.ReadFile(path)
	testset.Must(t, err)
	if !bytes.Equal(got, want) {
		t.Errorf("%s:\n%s\nwant:\n%s", path, got, want)
	}
}
