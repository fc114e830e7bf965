package system

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/cleave-lab/cleave/binding/spans"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/kit/front"
)

// moment is so many milliseconds after the load of a trial began.
func moment(milliseconds int64) time.Time { return time.Unix(0, epoch+milliseconds*ms) }

// traced makes the spans of an order that one unit takes at begin, commits with a
// statement of 3 ms, and answers.
func traced(p *spans.Provider, order string, begin int64) {
	kind := func(k lab.SegmentKind) attribute.KeyValue {
		return attribute.String(lab.SegmentAttribute, string(k))
	}
	tracer := p.Tracer("")
	ctx, root := tracer.Start(context.Background(), "POST /orders", trace.WithTimestamp(moment(begin)))
	root.SetAttributes(kind(lab.SegmentBusiness), attribute.String(front.LocationNote, "/orders/"+order))
	_, commit := tracer.Start(ctx, "COMMIT", trace.WithTimestamp(moment(begin+2)))
	commit.SetAttributes(kind(lab.SegmentDatabase))
	commit.End(trace.WithTimestamp(moment(begin + 5)))
	root.End(trace.WithTimestamp(moment(begin + 8)))
}

// written leaves the spans of some orders in a directory, by their beginnings.
func written(t *testing.T, begins map[string]int64) (dir string) {
	t.Helper()
	dir = t.TempDir()
	p := spans.NewProvider(1)
	for order, begin := range begins {
		traced(p, order, begin)
	}
	testset.Must(t, p.Write(dir, "shop"))
	return dir
}

// measured returns an order that was due, sent and final so many milliseconds after the
// load began.
func measured(order string, due, sent, final int64) followed {
	return followed{order: order, intended: epoch + due*ms, sent: epoch + sent*ms, final: epoch + final*ms}
}

// TestPathsOfATrial: four orders of which three are traced. The path for a quantile
// is that of the traced order nearest to the quantile of all.
func TestPathsOfATrial(t *testing.T) {
	dir := written(t, map[string]int64{"a": 12, "b": 131, "c": 215, "never final": 300})
	orders := []followed{measured("a", 10, 11, 17), measured("not traced", 0, 0, 12),
		measured("b", 100, 130, 136), measured("c", 200, 210, 220)}
	got, err := paths(dir, orders)
	if err != nil || len(got) != 3 {
		t.Fatalf("%d paths (%v), want 3", len(got), err)
	}
	for i, want := range []struct {
		share     float64
		operation string
		seconds   float64
		segments  []string
	}{
		{lab.PathMean, "mean", (7 + 36 + 20) / 3e3, []string{
			"shop business code business code", "generator transport transport", "generator queueing queueing",
			"shop database database"}},
		// The median of 7, 12, 20 and 36 ms is 12; the nearest that is traced has 7.
		{0.5, "a", 0.007, []string{"generator queueing wait to be sent", "generator transport to shop",
			"shop business code POST /orders", "shop database COMMIT"}},
		{0.99, "b", 0.036, []string{"generator queueing wait to be sent", "generator transport to shop",
			"shop business code POST /orders", "shop database COMMIT"}},
	} {
		path := got[i]
		if path.Share != want.share || path.Operation != want.operation || path.Sampled != 3 ||
			math.Abs(path.Seconds-want.seconds) > 1e-9 {
			t.Errorf("path %d: %+v, want %+v", i, path, want)
		}
		var segments []string
		end := 0.0
		for _, s := range path.Segments {
			segments = append(segments, strings.Join([]string{s.Unit, string(s.Kind), s.Name}, " "))
			if math.Abs(s.Start-end) > 1e-9 {
				t.Errorf("path %d: segment %+v begins at %g, the one before ends at %g", i, s, s.Start, end)
			}
			end = s.Start + s.Seconds
		}
		if !slices.Equal(segments, want.segments) || math.Abs(end-path.Seconds) > 1e-9 {
			t.Errorf("path %d: %q until %g, want %q until %g", i, segments, end, want.segments, path.Seconds)
		}
	}
}

// TestWhatIsTooShortIsNotShown: the unit's 8 ms are less than a two-thousandth of the
// order's 20 s.
func TestWhatIsTooShortIsNotShown(t *testing.T) {
	got, err := paths(written(t, map[string]int64{"a": 19_993}), []followed{measured("a", 0, 0, 20_000)})
	if err != nil || len(got) != 3 {
		t.Fatalf("%d paths (%v), want 3", len(got), err)
	}
	var names []string
	for _, s := range got[1].Segments {
		names = append(names, s.Name)
	}
	if want := []string{"to shop"}; !slices.Equal(names, want) {
		t.Errorf("segments %q, want %q", names, want)
	}
	if len(got[0].Segments) != 3 {
		t.Errorf("the mean has %+v, want transport, business code and database", got[0].Segments)
	}
}

// TestOrdersThatCannotBeFollowed: without a whole trace there is no path.
func TestOrdersThatCannotBeFollowed(t *testing.T) {
	for name, order := range map[string]followed{
		"not traced":                measured("b", 0, 1, 20),
		"sent after it was taken":   measured("a", 0, 19, 20),
		"final before it was taken": measured("a", 0, 1, 12),
		"final after all spans":     measured("a", 0, 1, 50),
	} {
		got, err := paths(written(t, map[string]int64{"a": 12}), []followed{order})
		if err != nil || len(got) != 0 {
			t.Errorf("%s: %d paths (%v), want none", name, len(got), err)
		}
	}
	dir := t.TempDir()
	testset.Must(t, os.WriteFile(filepath.Join(dir, "spans-shop.jsonl"), []byte("?\n"), 0o600))
	if _, err := paths(dir, nil); err == nil {
		t.Error("a file of something else goes unnoticed")
	}
}
