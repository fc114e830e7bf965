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

// Tracer returns what makes the spans of a unit, for a share of the requests that begin there. It returns nil
// if the share is 0.
func Tracer(share float64) *spans.Provider {
	if share == 0 {
		return nil
	}
	return spans.NewProvider(share)
}

// Begin is told of a call, by its method as gRPC has it, and returns what ends it.
type Begin = func(ctx context.Context, method string) (inside context.Context, end func())

// Followed returns a component as others in its unit call it, and as it is served to other units.
func Followed[C any](h Host, component string, made C, follow func(C, Begin) C) (called, served C) {
	if !h.Traced() {
		return made, made
	}
	return follow(made, Called(component)), follow(made, answered(component))
}

// Called makes spans of the calls of a component that a unit hosts by others in the same unit: they tell what
// of the unit's time belongs to which component. A request that is not traced pays for a look at its context.
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

// answered notes on the spans of other units' calls which component answers them: a unit with several has a
// name of its own.
func answered(component string) Begin {
	return func(ctx context.Context, _ string) (context.Context, func()) {
		if answer := trace.SpanFromContext(ctx); answer.IsRecording() {
			answer.SetAttributes(attribute.String(lab.ComponentAttribute, component))
		}
		return ctx, nothing
	}
}

func nothing() {}

// HandOverSpans writes the spans of this process to its folder and hands them over; nothing for a nil tracer.
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

// KeepSpans copies the span files that the units of a trial have left to where somebody wants them: into a
// folder that is named after its number, variant and point. Without a place to keep them it does nothing.
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
