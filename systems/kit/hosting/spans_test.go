package hosting_test

import (
	"path/filepath"
	"testing"

	"github.com/cleave-lab/cleave/binding/spans"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/kit/hosting"
)

func TestSpansAreKeptWhereSomebodyWantsThem(t *testing.T) {
	dir, to := t.TempDir(), filepath.Join(t.TempDir(), "spans")
	tracer := hosting.Tracer(1)
	_, root := spans.Enter(t.Context(), tracer, "POST /orders")
	root.End()
	if err := tracer.Write(dir, "shop"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := hosting.KeepSpans(to, lab.Variant{Name: "sync, 2 of each"}, lab.Point{Name: "rate=5/s"},
			dir); err != nil {
			t.Fatal(err)
		}
	}
	for _, trial := range []string{"001-sync__2_of_each-rate_5_s", "002-sync__2_of_each-rate_5_s"} {
		got, err := spans.Read(filepath.Join(to, trial))
		if err != nil || len(got) != 1 {
			t.Errorf("%s: %d spans (%v), want 1", trial, len(got), err)
		}
	}
	if err := hosting.KeepSpans("", lab.Variant{}, lab.Point{}, "/nowhere"); err != nil {
		t.Error(err)
	}
	if hosting.Tracer(0) != nil {
		t.Error("no request is traced, but something makes spans")
	}
}
