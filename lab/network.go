package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// NetworkVariable is the environment variable with the network between a generator and the system, as JSON.
const NetworkVariable = "CLEAVE_NETWORK"

// Network describes a network that a relay in the generator's process simulates between the generator and the
// system, such as the network between users and a cluster. Otherwise there is only that of the deployment.
type Network struct {
	// Delay is the delay of requests and connections, in seconds.
	Delay float64 `json:"delay_seconds,omitempty" yaml:"delay,omitempty,span"`
	// Rate is the highest rate, in bytes per second and in each direction, over all connections; 0: no limit.
	Rate float64 `json:"rate_bytes_per_second,omitempty" yaml:"rate,omitempty,rate"`
}

// Seconds returns a number of seconds as a duration, a century at most: a duration cannot hold three.
func Seconds(n float64) time.Duration {
	const century = 100 * 365 * 24 * time.Hour
	return time.Duration(min(n*float64(time.Second), float64(century)))
}

// String describes the network: "1ms later, at most 12.5 MB/s".
func (n Network) String() string {
	var parts []string
	if n.Delay > 0 {
		parts = append(parts, Seconds(n.Delay).String()+" later")
	}
	if n.Rate > 0 {
		parts = append(parts, "at most "+Plain(n.Rate/1e6)+" MB/s")
	}
	return strings.Join(parts, ", ")
}

// passNetwork adds the network of the variant to the environment of the generator of a layout.
func (v Variant) passNetwork(l *Layout) error {
	if v.Network == (Network{}) {
		return nil
	}
	if v.Network.Delay < 0 || v.Network.Rate < 0 {
		return fmt.Errorf("network: its delay is %g s and its rate %g bytes per second: neither can be negative",
			v.Network.Delay, v.Network.Rate)
	}
	at := slices.IndexFunc(l.Units, func(u UnitSpec) bool { return u.Role == RoleGenerator })
	if at < 0 {
		return errors.New("network: this system makes its own load, so there is no network before it")
	}
	text, err := json.Marshal(v.Network)
	if err != nil {
		return fmt.Errorf("encode the network: %w", err)
	}
	l.Units = slices.Clone(l.Units)
	l.Units[at].Env = append(slices.Clone(l.Units[at].Env), NetworkVariable+"="+string(text))
	return nil
}
