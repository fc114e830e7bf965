package stream

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"net/netip"

	"github.com/cleave-lab/cleave/load/engine"
)

// Protocol is the protocol of the load. The URL says whether it is encrypted.
type Protocol string

// The protocols.
const (
	Auto  Protocol = ""      // http: HTTP/1.1; https: HTTP/2 or HTTP/1.1, by the choice of the server
	HTTP1 Protocol = "http1" // HTTP/1.1
	HTTP2 Protocol = "http2" // HTTP/2; in clear text by prior knowledge (h2c)
	GRPC  Protocol = "grpc"  // unary calls
)

const (
	// maxWorkers bounds the number of flows in progress: each has a goroutine.
	maxWorkers = 100_000
	// DefaultStreams is the number of operations that share a connection if the protocol has streams.
	// Servers usually permit 100 or more (RFC 9113, 6.5.2).
	DefaultStreams = 32
)

// Config is one load on one target.
type Config struct {
	Protocol Protocol
	// URL is "https://name:port". Its scheme, http or https, says whether the connection is encrypted. Its
	// host is the name for certificates and the headers Host and :authority. It is not resolved.
	URL string
	// Address is the only address to connect to; or else Unix is the path of a socket.
	Address netip.AddrPort
	Unix    string
	// TLS configures the check of the server of an https URL; its ServerName is the name on the certificate.
	// Without a session cache every connection makes a full handshake, like a new client.
	TLS *tls.Config
	// Methods are the gRPC methods that the scenario calls, "package.Service/Method". ProtoSet is a
	// FileDescriptorSet that describes them; nil: the server is asked by reflection.
	Methods  []string
	ProtoSet []byte
	// Streams is the number of flows that share a connection at the same time. Zero: one with HTTP/1.1 or
	// without keep-alive, otherwise 32.
	Streams int
	engine.Load
}

// fill fills in the number of flows per connection, and checks the numbers of flows and connections. As long
// as the protocol is not known, it leaves the number of flows as it is.
func (c *Config) fill() error {
	switch {
	case c.Protocol == Auto: // filled in again when the protocol is known
	case c.Protocol == HTTP1:
		c.Streams = 1 // a higher number was for HTTP/2
	case c.KeepAlive:
		c.Streams = cmp.Or(c.Streams, DefaultStreams)
	case c.Streams > 1:
		return fmt.Errorf("stream: %d streams: without keep-alive every flow has a connection of its own",
			c.Streams)
	default:
		c.Streams = 1
	}
	return c.checkWorkers()
}

// checkWorkers checks the numbers of users, connections and streams. It computes the number of connections
// that the users of a closed loop need.
func (c *Config) checkWorkers() error {
	streams := max(c.Streams, 1)
	if c.Users != nil {
		if c.Users.Number < 1 || c.Users.Number > maxWorkers {
			return fmt.Errorf("stream: %d users: use 1 to %d", c.Users.Number, maxWorkers)
		}
		c.Connections = (c.Users.Number + streams - 1) / streams
	}
	if c.Connections < 1 || c.Connections > engine.MaxConnections {
		return fmt.Errorf("stream: %d connections: use 1 to %d", c.Connections, engine.MaxConnections)
	}
	if c.Connections*streams > maxWorkers {
		return fmt.Errorf("stream: %d connections with %d streams: use at most %d streams in all", c.Connections,
			streams, maxWorkers)
	}
	return nil
}

// workers returns the number of flows that can be in progress.
func (c *Config) workers() int {
	if c.Users != nil {
		return c.Users.Number
	}
	return c.Connections * c.Streams
}
