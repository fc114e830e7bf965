package rpc

import (
	"cmp"

	"go.opentelemetry.io/otel/trace"
)

// Option changes one of the Options of a server or a client.
type Option func(*Options)

// Options holds the optional settings of a server or a client.
type Options struct {
	// Tracer starts the spans of calls whose caller is traced; nil disables tracing. Servers only.
	Tracer trace.TracerProvider
	// Codec is the encoding of messages. Both ends must have the same.
	Codec Codec
	// LogError is called with the errors of calls that failed inside of the callee; may be nil. Servers only.
	LogError func(error)
}

// Traced makes a server trace the calls whose caller is traced.
func Traced(tracer trace.TracerProvider) Option {
	return func(o *Options) { o.Tracer = tracer }
}

// LogErrors makes a server report the errors of calls that failed inside of it.
func LogErrors(logError func(error)) Option {
	return func(o *Options) { o.LogError = logError }
}

// Encoded replaces a binding's default encoding; nil keeps it.
func Encoded(codec Codec) Option {
	return func(o *Options) { o.Codec = cmp.Or(codec, o.Codec) }
}

// Apply returns the defaults of a binding, whose encoding is own, with options applied to them.
func Apply(own Codec, options []Option) Options {
	applied := Options{Codec: own}
	for _, set := range options {
		set(&applied)
	}
	return applied
}
