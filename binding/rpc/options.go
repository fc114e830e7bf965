package rpc

import (
	"cmp"

	"go.opentelemetry.io/otel/trace"
)

// Option sets something about a server or a client that most do without.
type Option func(*Options)

// Options holds the sum of the options of a server or a client.
type Options struct {
	// Tracer makes spans of the calls whose caller is traced; nil makes none. It is for servers.
	Tracer trace.TracerProvider
	// Codec is the encoding of messages. Both ends must have the same.
	Codec Codec
	// LogError receives the errors of calls that failed inside of the callee; nil: nobody does. It is for
	// servers.
	LogError func(error)
}

// Traced has a server make spans of the calls whose caller is traced.
func Traced(tracer trace.TracerProvider) Option {
	return func(o *Options) { o.Tracer = tracer }
}

// LogErrors has a server report the calls that failed inside of the callee.
func LogErrors(logError func(error)) Option {
	return func(o *Options) { o.LogError = logError }
}

// Encoded has a binding use another encoding than its own; nil changes nothing.
func Encoded(codec Codec) Option {
	return func(o *Options) { o.Codec = cmp.Or(codec, o.Codec) }
}

// Sum returns what options of a binding with an encoding of its own add up to.
func Sum(own Codec, options []Option) Options {
	sum := Options{Codec: own}
	for _, set := range options {
		set(&sum)
	}
	return sum
}
