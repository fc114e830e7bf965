package hosting

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/cleave-lab/cleave/binding/spans"
	"github.com/cleave-lab/cleave/lab"
)

// Begin is called at the beginning of a call of a method, such as "/service/Method". It returns the context
// of the call and a function to call at its end.
type Begin = func(ctx context.Context, method string) (inside context.Context, end func())

// Followed wraps a component by follow, so that the spans of its calls name it. called is for the other
// components in the unit, and served for other units. If the unit makes no spans, both are own.
func Followed[C any](h Host, component string, own C, follow func(C, Begin) C) (called, served C) {
	if !h.Traced() {
		return own, own
	}
	return follow(own, Called(component)), follow(own, nameServerSpan(component))
}

// Called returns a Begin that makes a span of each call of a component by another one in the same unit, so
// that the time of the unit divides into that of its components. The Begin does nothing if the request is not
// traced.
func Called(component string) Begin {
	return func(ctx context.Context, method string) (context.Context, func()) {
		ctx, span := spans.Begin(ctx, spans.Method(method), lab.SegmentBusiness)
		if span == nil {
			return ctx, nothing
		}
		span.Note(lab.ComponentAttribute, component)
		return ctx, span.End
	}
}

// nameServerSpan returns a Begin that adds the name of the component to the span of a call by another unit.
// The name of the unit does not tell which of its components answers.
func nameServerSpan(component string) Begin {
	return func(ctx context.Context, _ string) (context.Context, func()) {
		if span := trace.SpanFromContext(ctx); span.IsRecording() {
			span.SetAttributes(attribute.String(lab.ComponentAttribute, component))
		}
		return ctx, nothing
	}
}

func nothing() {}

// KeepSpans copies a trial's span files from dir into a new folder below parent, called
// NUMBER-VARIANT-POINT. The number is one more than the highest one below parent. If parent is empty it does
// nothing.
func KeepSpans(parent string, v lab.Variant, p lab.Point, dir string) error {
	if parent == "" {
		return nil
	}
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return fmt.Errorf("keep spans: %w", err)
	}
	kept, err := os.ReadDir(parent)
	if err != nil {
		return fmt.Errorf("keep spans: %w", err)
	}
	names, err := spans.Files(dir)
	if err != nil {
		return err
	}
	highest := 0
	for _, folder := range kept {
		digits, _, _ := strings.Cut(folder.Name(), "-")
		number, _ := strconv.Atoi(digits) // 0 if the name has no number: the folder is not of KeepSpans
		highest = max(highest, number)
	}
	folder := fmt.Sprintf("%03d-%s-%s", highest+1, plain(v.Name), plain(p.Name))
	to := filepath.Join(parent, folder)
	if err := os.Mkdir(to, 0o755); err != nil {
		return fmt.Errorf("keep spans: %w", err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err == nil {
			err = os.WriteFile(filepath.Join(to, filepath.Base(name)), text, 0o644)
		}
		if err != nil {
			return fmt.Errorf("keep spans: %w", err)
		}
	}
	return nil
}

// plain returns a name in which everything but letters, digits and hyphens is replaced by an underscore.
func plain(name string) string {
	return strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '-' {
			return r
		}
		return '_'
	}, name)
}
