package kit

import "github.com/cleave-lab/cleave/lab"

// KnobSecurity is the knob for the connections between units of a system.
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
