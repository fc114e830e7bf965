package rpc

import "go.opentelemetry.io/otel/trace"

// Option sets something about a server that most do without.
type Option func(*Options)

// Options are what the options of a server add up to.
type Options struct {
	// Tracer makes spans of the calls whose caller is traced; nil makes none.
	Tracer trace.TracerProvider
}

// Traced has a server make spans of the calls whose caller is traced.
func Traced(tracer trace.TracerProvider) Option {
	return func(o *Options) { o.Tracer = tracer }
}

// Sum returns what options add up to.
func Sum(options []Option) (sum Options) {
	for _, set := range options {
		set(&sum)
	}
	return sum
}
