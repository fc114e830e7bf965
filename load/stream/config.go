package stream

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cleave-lab/cleave/load/engine"
	"github.com/cleave-lab/cleave/load/record"
	"github.com/cleave-lab/cleave/load/scenario"
	"github.com/cleave-lab/cleave/load/schedule"
)

// Protocol is what is spoken. Whether it is encrypted is said by the URL.
type Protocol string

// The protocols.
const (
	Auto  Protocol = ""      // http: HTTP/1.1; https: what the server picks
	HTTP1 Protocol = "http1" // HTTP/1.1
	HTTP2 Protocol = "http2" // HTTP/2; in clear text by prior knowledge (h2c)
	GRPC  Protocol = "grpc"  // unary calls
)

const (
	// maxPlaces bounds the flows in progress: each has a goroutine.
	maxPlaces = 100_000
	// defaultStreams is how many operations share a connection where the protocol
	// has streams. Servers permit 100 or more by custom (RFC 9113, 6.5.2).
	defaultStreams = 32
)

// Config is one load on one target.
type Config struct {
	Protocol Protocol
	// URL is "https://name:port": the scheme http or https says whether the
	// connection is encrypted, the host is what certificates, the header Host and
	// :authority are about. It is not looked up.
	URL string
	// Address is the only one that is connected to. Unix, the path of a socket, is
	// used instead where it is given.
	Address netip.AddrPort
	Unix    string
	TLS     TLS
	Player  *scenario.Player
	// Methods are the gRPC methods that the scenario calls, "package.Service/Method".
	// ProtoSet, a FileDescriptorSet, describes them; nil: the server is asked.
	Methods  []string
	ProtoSet []byte
	// Open are the due times of flows in an open loop; nil in a closed loop.
	Open schedule.Arrivals
	// Users is the closed loop; nil in an open loop.
	Users *engine.Users
	// Duration is the window in which steps are begun.
	Duration time.Duration
	// Connections is the size of the pool, open from the beginning; in a closed
	// loop it follows from the users. Streams is how many flows share a connection
	// at the same time. Zero: one on HTTP/1.1, else 32.
	Connections, Streams int
	// KeepAlive false: every flow has a new connection.
	KeepAlive bool
	// Enough, if given, ends the duration when it is set.
	Enough *atomic.Bool
	// Timeout is the limit of an operation, from its actual send (or the attempt
	// to connect).
	Timeout time.Duration
	// Grace is how long to wait, after Duration, for operations in flight. Zero: as
	// long as Timeout.
	Grace  time.Duration
	Pacing engine.Pacing
	// MaxRate caps how many flows begin in a second, whatever is due; zero: no cap.
	MaxRate float64
	// Until is when the permission ends: nothing goes on after it. Zero: never.
	Until time.Time
	// Connected, if given, is called when the pool is open, before time zero. It may
	// block; its error ends the load.
	Connected func() error
	Recorder  *record.Recorder
}

// Notes is what a reader of the results has to be told.
func (c *Config) Notes() []string {
	if !c.TLS.Insecure || !strings.HasPrefix(c.URL, "https:") {
		return nil
	}
	return []string{"CERTIFICATES WERE NOT CHECKED: whoever answered need not have been " + c.URL}
}

// check names all mistakes and fills what follows from the rest.
func (c *Config) check() error {
	var mistakes []error
	refuse := func(wrong bool, format string, args ...any) {
		if wrong {
			mistakes = append(mistakes, fmt.Errorf("stream: "+format, args...))
		}
	}
	u, err := url.Parse(c.URL)
	refuse(err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https",
		"URL %q: write for example https://shop.example:8443", c.URL)
	refuse(!c.Address.IsValid() && c.Unix == "", "no address to connect to")
	refuse((c.Open == nil) == (c.Users == nil), "give either an open loop or users")
	refuse(c.Users != nil && (c.Users.Think < 0 || c.Users.RampUp < 0),
		"think time and ramp-up must not be negative")
	refuse(c.Player == nil, "no scenario")
	refuse(c.Recorder == nil, "no recorder")
	refuse(c.Duration <= 0, "duration %v is not above zero", c.Duration)
	refuse(c.Timeout <= 0, "timeout %v is not above zero", c.Timeout)
	refuse(c.Grace < 0, "grace %v is negative", c.Grace)
	refuse(!(c.MaxRate >= 0), "highest rate %g is negative", c.MaxRate)
	refuse(!c.Until.IsZero() && !time.Now().Before(c.Until), "the load must not go on after %s, which is over",
		c.Until.Format(time.RFC3339))
	if c.Grace == 0 {
		c.Grace = c.Timeout
	}
	return errors.Join(append(mistakes, c.checkPool())...)
}

// checkPool checks how flows share connections, once the protocol is known.
func (c *Config) checkPool() error {
	switch c.Protocol {
	case Auto: // what follows is checked again when it is known
	case HTTP1:
		if c.Streams > 1 {
			return fmt.Errorf("stream: %d streams: HTTP/1.1 has one operation at a time on a connection", c.Streams)
		}
		c.Streams = 1
	case HTTP2, GRPC:
		if !c.KeepAlive {
			if c.Streams > 1 {
				return fmt.Errorf("stream: %d streams: without keep-alive every flow has a connection of its own",
					c.Streams)
			}
			c.Streams = 1
		}
		if c.Streams == 0 {
			c.Streams = defaultStreams
		}
	default:
		return fmt.Errorf("stream: protocol %q is unknown: use %s, %s or %s", c.Protocol, HTTP1, HTTP2, GRPC)
	}
	if c.Streams < 0 {
		return fmt.Errorf("stream: %d streams: use at least one", c.Streams)
	}
	return c.checkPlaces()
}

// checkPlaces bounds what the load may use on this host.
func (c *Config) checkPlaces() error {
	streams := max(c.Streams, 1)
	if c.Users != nil {
		if c.Users.Number < 1 || c.Users.Number > maxPlaces {
			return fmt.Errorf("stream: %d users: use 1 to %d", c.Users.Number, maxPlaces)
		}
		c.Connections = (c.Users.Number + streams - 1) / streams
	}
	if c.Connections < 1 || c.Connections > engine.MaxConnections {
		return fmt.Errorf("stream: %d connections: use 1 to %d", c.Connections, engine.MaxConnections)
	}
	if c.Connections*streams > maxPlaces {
		return fmt.Errorf("stream: %d connections with %d streams: use at most %d streams in all", c.Connections,
			streams, maxPlaces)
	}
	return nil
}

// places is how many flows can be in progress.
func (c *Config) places() int {
	if c.Users != nil {
		return c.Users.Number
	}
	return c.Connections * c.Streams
}
