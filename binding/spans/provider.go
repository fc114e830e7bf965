package spans

import (
	"context"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/embedded"
	"go.opentelemetry.io/otel/trace/noop"
)

const (
	// maxKept is the number of spans that a process keeps in its life, about 20 MB. Spans count even
	// after Write. Further spans are dropped and counted.
	maxKept = 1 << 17
	// perPiece is the number of spans that are allocated together, and written as one line.
	perPiece = 512
)

// Provider starts spans and keeps those that have ended. It implements
// trace.TracerProvider, with one tracer for all names.
type Provider struct {
	embedded.TracerProvider
	tracer tracer
	bound  uint64 // see begin

	mu       sync.Mutex
	kept     [][]Record // pieces, because one growing slice would be copied repeatedly
	counts   Counts
	reported int64 // dropped spans that are already reported in a file
}

var _ trace.TracerProvider = (*Provider)(nil)

// NewProvider returns a provider that samples a share, from 0 to 1, of the operations that begin
// in this process. Operations that began in other processes are sampled if they were sampled there.
func NewProvider(share float64) *Provider {
	share = min(max(share, 0), 1)
	p := &Provider{bound: uint64(share * (1 << 63))}
	p.tracer.provider = p
	return p
}

// Tracer implements trace.TracerProvider.
func (p *Provider) Tracer(string, ...trace.TracerOption) trace.Tracer { return &p.tracer }

// Counts holds the numbers of spans that a process has kept and dropped.
type Counts struct {
	Kept int64 `json:"kept"`
	// Dropped counts the spans beyond maxKept.
	Dropped int64 `json:"dropped,omitempty"`
}

// Counts returns the counts so far.
func (p *Provider) Counts() Counts {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.counts
}

// keep stores an ended span.
func (p *Provider) keep(r Record) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.counts.Kept >= maxKept {
		p.counts.Dropped++
		return
	}
	p.counts.Kept++
	last := len(p.kept) - 1
	if last < 0 || len(p.kept[last]) == perPiece {
		p.kept = append(p.kept, make([]Record, 0, perPiece))
		last++
	}
	p.kept[last] = append(p.kept[last], r)
}

type tracer struct {
	embedded.Tracer
	provider *Provider
}

// Start implements trace.Tracer. If the operation is not sampled, it returns ctx and a
// span that does nothing. Work inside is not sampled anew: Begin calls Start only in a
// context with a recorded span.
func (t *tracer) Start(
	ctx context.Context, name string, options ...trace.SpanStartOption,
) (context.Context, trace.Span) {
	parent := trace.SpanContextFromContext(ctx)
	id := parent.TraceID()
	sampled := parent.IsSampled()
	if !parent.IsValid() {
		id, sampled = t.provider.begin()
	}
	if !sampled {
		return ctx, noop.Span{}
	}
	config := trace.NewSpanStartConfig(options...)
	s := &span{provider: t.provider, began: config.Timestamp()}
	if s.began.IsZero() {
		s.began = time.Now()
	}
	s.context = trace.NewSpanContext(trace.SpanContextConfig{TraceID: id, SpanID: newSpanID(),
		TraceFlags: trace.FlagsSampled})
	s.kept = Record{Trace: id, ID: s.context.SpanID(), Parent: parent.SpanID(),
		Role: trace.ValidateSpanKind(config.SpanKind()), Name: name}
	s.SetAttributes(config.Attributes()...)
	return trace.ContextWithSpan(ctx, s), s
}

// begin returns a random trace id, and whether the trace is sampled. It decides as
// OpenTelemetry's TraceIDRatioBased: the upper 63 of the id's last 64 bits must be below
// the bound.
func (p *Provider) begin() (id trace.TraceID, sampled bool) {
	low := rand.Uint64()
	if low>>1 >= p.bound {
		return id, false
	}
	binary.BigEndian.PutUint64(id[:8], rand.Uint64())
	binary.BigEndian.PutUint64(id[8:], low)
	return id, id.IsValid()
}

// newSpanID returns a random span id other than zero.
func newSpanID() (id trace.SpanID) {
	binary.BigEndian.PutUint64(id[:], 1+rand.Uint64N(math.MaxUint64))
	return id
}
