package stream

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"

	"github.com/cleave-lab/cleave/load/engine"
)

// Protocol is the protocol of the load. Whether it is encrypted is said by the URL.
type Protocol string

// The protocols.
const (
	Auto  Protocol = ""      // http: HTTP/1.1; https: what the server picks of HTTP/2 and HTTP/1.1
	HTTP1 Protocol = "http1" // HTTP/1.1
	HTTP2 Protocol = "http2" // HTTP/2; in clear text by prior knowledge (h2c)
	GRPC  Protocol = "grpc"  // unary calls
)

const (
	// maxPlaces bounds the flows in progress: each has a goroutine.
	maxPlaces = 100_000
	// defaultStreams is the number of operations that share a connection where the protocol
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
	// Address is the only one that is connected to, or instead Unix, the path of a socket.
	Address netip.AddrPort
	Unix    string
	// TLS configures the check of the server of an https URL; its ServerName is the name on the certificate.
	// Without a cache of sessions every connection costs a full handshake, as for a new client.
	TLS *tls.Config
	// Methods are the gRPC methods that the scenario calls, "package.Service/Method".
	// ProtoSet, a FileDescriptorSet, describes them; nil: the server is asked.
	Methods  []string
	ProtoSet []byte
	// Streams is the number of flows that share a connection at the same time. Zero: one on
	// HTTP/1.1, else 32.
	Streams int
	engine.Load
}

// Notes returns what a reader of the results has to be told.
func (c *Config) Notes() []string {
	if !strings.HasPrefix(c.URL, "https:") || !c.TLS.InsecureSkipVerify {
		return nil
	}
	return []string{"CERTIFICATES WERE NOT CHECKED: whoever answered need not have been " + c.URL}
}

// check names all mistakes, and fills in what follows from other fields.
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
	refuse(strings.HasPrefix(c.URL, "https:") && c.TLS == nil, "nothing says how the server is checked")
	refuse(!c.Address.IsValid() && c.Unix == "", "no address to connect to")
	return errors.Join(append(mistakes, c.Check(), c.checkPool())...)
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
		c.Streams = cmp.Or(c.Streams, defaultStreams)
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

// places returns how many flows can be in progress.
func (c *Config) places() int {
	if c.Users != nil {
		return c.Users.Number
	}
	return c.Connections * c.Streams
}
