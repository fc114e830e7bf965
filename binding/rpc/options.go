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
}

// Traced has a server make spans of the calls whose caller is traced.
func Traced(tracer trace.TracerProvider) Option {
	return func(o *Options) { o.Tracer = tracer }
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
