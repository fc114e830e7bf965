package kit

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cleave-lab/cleave/lab"
)

// CallKnobs returns the knobs for calls between units, which are the same in every system with such calls.
// The first value of each changes nothing. None has an effect if all components are in one unit.
func CallKnobs() []lab.Knob {
	return []lab.Knob{Encoding(), Security(), Resilience(), Balancing(), Sidecar()}
}

// Settings holds the values of CallKnobs, KnobLogging and KnobSpans.
type Settings struct {
	Encoding, Security, Resilience, Sidecar, Balancing, Logging string

	Spans float64 // the share of requests that are traced
}

// ReadSettings returns the settings among the values of all knobs of a system.
func ReadSettings(values map[string]string) (Settings, error) {
	spans, err := TracedShare(values)
	return Settings{Encoding: values[KnobEncoding], Security: values[KnobSecurity],
		Resilience: values[KnobResilience], Sidecar: values[KnobSidecar], Balancing: values[KnobBalancing],
		Logging: values[KnobLogging], Spans: spans}, err
}

// IsOfCalls reports whether a knob is one of CallKnobs.
func IsOfCalls(knob string) bool {
	return slices.ContainsFunc(CallKnobs(), func(k lab.Knob) bool { return k.Name == knob })
}

// AddsToCalls reports whether a value of one of CallKnobs changes calls: every value but the first.
func AddsToCalls(knob, value string) bool {
	return slices.ContainsFunc(CallKnobs(), func(k lab.Knob) bool {
		return k.Name == knob && k.Values[0] != value
	})
}

// CheckCalls returns an error for every setting that has no effect because the system has one unit. It checks
// CallKnobs, and own: the knobs for calls that only this system has.
func CheckCalls(settings map[string]string, units int, own ...lab.Knob) error {
	if units != 1 {
		return nil
	}
	var mistakes []error
	for _, k := range append(CallKnobs(), own...) {
		if value, set := settings[k.Name]; set && value != k.Values[0] {
			mistakes = append(mistakes, fmt.Errorf("%s %s has no effect: all components are in one unit, which "+
				"calls no other", k.Name, value))
		}
	}
	return errors.Join(mistakes...)
}

// KnobEncoding is the knob for the encoding of messages between units.
const KnobEncoding = "encoding"

// The values of KnobEncoding.
const (
	OwnEncoding = "default" // that of the binding
	JSON        = "json"
	Protobuf    = "protobuf"
	MessagePack = "msgpack"
)

// Encoding returns the knob.
func Encoding() lab.Knob {
	return lab.Knob{Name: KnobEncoding, Values: []string{OwnEncoding, JSON, Protobuf, MessagePack},
		Summary: "encoding of calls between units, whatever carries them: the default of that (JSON over HTTP, " +
			"Protocol Buffers over gRPC), or one of the three",
		Means: map[string]string{OwnEncoding: "calls in the default encoding", JSON: "calls in JSON",
			Protobuf: "calls in Protocol Buffers", MessagePack: "calls in MessagePack"}}
}

// KnobSecurity is the knob for the protection of connections between units.
const KnobSecurity = "security"

// The values of KnobSecurity.
const (
	Plain     = "none"
	TLS       = "tls"
	MutualTLS = "mtls"
)

// Security returns the knob.
func Security() lab.Knob {
	return lab.Knob{Name: KnobSecurity, Values: []string{Plain, TLS, MutualTLS},
		Summary: "protection of calls between units: none, TLS 1.3, or TLS in which callers identify themselves, " +
			"too; every trial has an authority of its own",
		Means: map[string]string{Plain: "unprotected calls", TLS: "calls over TLS",
			MutualTLS: "calls over mutual TLS"}}
}

// KnobSidecar is the knob for proxies beside the units of a system.
const KnobSidecar = "sidecar"

// The values of KnobSidecar.
const (
	NoSidecar = "none"
	HAProxy   = "haproxy"
)

// Sidecar returns the knob.
func Sidecar() lab.Knob {
	return lab.Knob{Name: KnobSidecar, Values: []string{NoSidecar, HAProxy},
		Summary: "a proxy beside each unit, as in a service mesh: every call passes that of the caller and that " +
			"of the called unit",
		Means: map[string]string{NoSidecar: "direct calls", HAProxy: "a HAProxy beside each unit"}}
}
