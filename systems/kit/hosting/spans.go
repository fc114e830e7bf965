package hosting

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/cleave-lab/cleave/binding/spans"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/unit"
)

// Tracer returns the tracer of a unit, for a share of the requests that begin there; nil if the share is 0.
func Tracer(share float64) *spans.Provider {
	if share == 0 {
		return nil
	}
	return spans.NewProvider(share)
}

// Begin begins what belongs to a call of a method, which is named as in gRPC, and returns what ends it.
type Begin = func(ctx context.Context, method string) (inside context.Context, end func())

// Followed returns a component as others in its unit call it, and as it is served to other units.
func Followed[C any](h Host, component string, made C, follow func(C, Begin) C) (called, served C) {
	if !h.Traced() {
		return made, made
	}
	return follow(made, Called(component)), follow(made, answered(component))
}

// Called makes a span of each call of a component by another one in the same unit: so the unit's time divides
// into that of its components. A request that is not traced costs a look at its context.
func Called(component string) Begin {
	return func(ctx context.Context, method string) (context.Context, func()) {
		ctx, part := spans.Begin(ctx, spans.Method(method), lab.SegmentBusiness)
		if part == nil {
			return ctx, nothing
		}
		part.Note(lab.ComponentAttribute, component)
		return ctx, part.End
	}
}

// answered notes the component on the span of a call by another unit: the unit's name does not tell which of
// several components answers.
func answered(component string) Begin {
	return func(ctx context.Context, _ string) (context.Context, func()) {
		if answer := trace.SpanFromContext(ctx); answer.IsRecording() {
			answer.SetAttributes(attribute.String(lab.ComponentAttribute, component))
		}
		return ctx, nothing
	}
}

func nothing() {}

// HandOverSpans writes the spans of this process to its folder and hands them over. With a nil tracer it does
// nothing.
func HandOverSpans(channel *unit.Channel, tracer *spans.Provider) error {
	if tracer == nil {
		return nil
	}
	dir, err := unit.Dir()
	if err != nil {
		return err
	}
	name, err := unit.Name()
	if err != nil {
		return err
	}
	if err := tracer.Write(dir, name); err != nil {
		return err
	}
	return channel.HandOver(spans.File(dir, name))
}

// KeepSpans copies the span files of a trial into a new folder below place, named after the trial's number,
// variant and point. If place is empty it does nothing.
func KeepSpans(place string, v lab.Variant, p lab.Point, dir string) error {
	if place == "" {
		return nil
	}
	if err := os.MkdirAll(place, 0o755); err != nil {
		return fmt.Errorf("keep spans: %w", err)
	}
	there, err := os.ReadDir(place)
	if err != nil {
		return fmt.Errorf("keep spans: %w", err)
	}
	names, err := spans.Files(dir)
	if err != nil {
		return err
	}
	to := filepath.Join(place, fmt.Sprintf("%03d-%s-%s", len(there)+1, plain(v.Name), plain(p.Name)))
	if err := os.Mkdir(to, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
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

// plain returns a name with nothing in it that is special in paths.
func plain(name string) string {
	return strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '-' {
			return r
		}
		return '_'
	}, name)
}
