package kit

import "github.com/cleave-lab/cleave/lab"

// KnobSidecar is the knob for proxies that stand beside the units of a system.
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
