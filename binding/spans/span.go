package spans

import (
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/cleave-lab/cleave/lab"
)

// span is a span that has started. The embedded noop.Span ignores events, links and
// errors.
type span struct {
	noop.Span
	provider *Provider
	context  trace.SpanContext
	began    time.Time

	mu    sync.Mutex
	kept  Record // without its Unit
	ended bool
}

var _ trace.Span = (*span)(nil)

// SpanContext implements trace.Span.
func (s *span) SpanContext() trace.SpanContext { return s.context }

// TracerProvider implements trace.Span.
func (s *span) TracerProvider() trace.TracerProvider { return s.provider }

// IsRecording implements trace.Span.
func (s *span) IsRecording() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.ended
}

// SetName implements trace.Span.
func (s *span) SetName(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept.Name = name
}

// SetAttributes implements trace.Span. It does nothing after the end, when the provider may be writing the
// span to a file.
func (s *span) SetAttributes(attributes ...attribute.KeyValue) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	for _, a := range attributes {
		if a.Key == lab.SegmentAttribute {
			s.kept.Kind = lab.SegmentKind(a.Value.AsString())
			continue
		}
		s.kept.setNote(string(a.Key), a.Value.String())
	}
}

// End implements trace.Span. Only the first call counts.
func (s *span) End(options ...trace.SpanEndOption) {
	ended := time.Now()
	if len(options) > 0 {
		config := trace.NewSpanEndConfig(options...)
		if at := config.Timestamp(); !at.IsZero() {
			ended = at
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	s.ended = true
	// Both times are of the host's wall clock, so that they compare with those of other
	// processes. If the clock is adjusted in between, the length is wrong.
	s.kept.Start = s.began.UnixNano()
	s.kept.End = ended.UnixNano()
	s.provider.keep(s.kept)
}
