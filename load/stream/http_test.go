package stream

import (
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/load/engine"
	"github.com/cleave-lab/cleave/load/record"
	"github.com/cleave-lab/cleave/load/scenario"
)

// quiet drops what a server under test complains about.
func quiet() *log.Logger { return log.New(io.Discard, "", 0) }

func TestEveryProtocolIsSpoken(t *testing.T) {
	ca := newAuthority(t)
	for _, c := range []struct {
		name     string
		protocol Protocol
		scheme   string
		alpn     []string
		want     string // as the server sees it
	}{
		{"https1", HTTP1, "https", nil, "HTTP/1.1"},
		{"h2", HTTP2, "https", nil, "HTTP/2.0"},
		{"h2c", HTTP2, "http", nil, "HTTP/2.0"},
		{"plain", HTTP1, "http", nil, "HTTP/1.1"},
		{"auto, both offered", Auto, "https", nil, "HTTP/2.0"},
		{"auto, only the old one", Auto, "https", []string{"http/1.1"}, "HTTP/1.1"},
		{"auto, clear text", Auto, "http", nil, "HTTP/1.1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			secure := ca.server("shop.test", soon(), c.alpn...)
			if c.scheme == "http" {
				secure = nil
			}
			address := serve(t, secure, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				if r.Proto != c.want || r.Host != "shop.test" || r.URL.RequestURI() != "/a%20b?x=1" ||
					string(body) != "tea" ||
					r.Header.Get("X-Kind") != "green" || r.Header.Get("User-Agent") != "" ||
					r.Header.Get("Accept-Encoding") != "" {
					w.WriteHeader(http.StatusTeapot)
					return
				}
				w.Header().Set("X-Answer", "good")
				hello(w, r)
			})
			r := newRig(t, c.protocol, c.scheme+"://shop.test", address)
			r.config.TLS.RootCAs = ca.pool
			if c.protocol == Auto {
				r.config.Streams = 4 // where the server has streams
			}
			*r.step() = scenario.Step{
				Name: "op", Request: "POST /a%20b?x=1", Body: "tea", Headers: map[string]string{"X-Kind": "green"},
				Expect: scenario.Expect{JSON: map[string]string{"ok": "true"},
					Header: map[string]string{"X-Answer": "good"}},
			}
			results, report := r.run()
			want(t, results, map[record.Outcome]int64{record.OK: 20})
			if report.Unsent != 0 || report.Statuses[200] != 20 || report.Received == 0 || report.Connects == 0 {
				t.Errorf("report is %+v", report)
			}
		})
	}
}

func TestAServerWithoutALPNSpeaksHTTP1(t *testing.T) {
	ca := newAuthority(t)
	listener := listen(t)
	server := &http.Server{Handler: http.HandlerFunc(hello), ErrorLog: quiet()}
	go func() { _ = server.Serve(tls.NewListener(listener, ca.server("shop.test", soon()))) }()
	t.Cleanup(func() { _ = server.Close() })
	for _, protocol := range []Protocol{Auto, HTTP1} {
		r := ca.rig(t, protocol, listener.Addr())
		results, _ := r.run()
		want(t, results, map[record.Outcome]int64{record.OK: 20})
	}
	r := ca.rig(t, HTTP2, listener.Addr())
	if _, _, err := r.try(); !errors.Is(err, errNoHTTP2) {
		t.Errorf("error %v, want %v", err, errNoHTTP2)
	}
}

func TestAServerWithoutHTTP2IsNoTarget(t *testing.T) {
	for name, answer := range map[string]string{"hangs up": "",
		"answers": "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"} {
		address := serveRaw(t, nil, func(conn, _ net.Conn) error {
			_, err := io.WriteString(conn, answer)
			return errors.Join(errDone, err)
		})
		var unreachable *engine.UnreachableError
		if _, _, err := newRig(t, HTTP2, "http://shop.test", address).try(); !errors.As(err, &unreachable) {
			t.Errorf("%s: error %v, want that there is no connection", name, err)
		}
	}
}

func TestUnixSocketsAreSpokenTo(t *testing.T) {
	listener, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	testset.Must(t, err)
	serveAt(t, listener, hello)
	for _, protocol := range []Protocol{HTTP1, HTTP2} {
		results, _ := newRig(t, protocol, "http://shop.test", listener.Addr()).run()
		want(t, results, map[record.Outcome]int64{record.OK: 20})
	}
}

func TestCertificatesAreChecked(t *testing.T) {
	ca := newAuthority(t)
	good := ca.server("shop.test", soon())
	old := ca.server("shop.test", soon())
	old.MaxVersion = tls.VersionTLS12
	for _, c := range []struct {
		name   string
		server *tls.Config
		change func(*tls.Config)
		want   string // empty: it is accepted
	}{
		{"good", good, func(*tls.Config) {}, ""},
		{"unknown authority", good, func(c *tls.Config) { c.RootCAs = newAuthority(t).pool }, "unknown authority"},
		{"authorities of the host", good, func(c *tls.Config) { c.RootCAs = nil }, "unknown authority"},
		{"other name", ca.server("other.test", soon()), func(*tls.Config) {}, "other.test"},
		{"expired", ca.server("shop.test", time.Now().Add(-time.Hour)), func(*tls.Config) {}, "expired"},
		{"insecure", ca.server("other.test", time.Now().Add(-time.Hour)),
			func(c *tls.Config) { c.InsecureSkipVerify = true }, ""},
		{"old version", old, func(*tls.Config) {}, ""},
		{"too old version", old, func(c *tls.Config) { c.MinVersion = tls.VersionTLS13 }, "protocol version"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, protocol := range []Protocol{HTTP1, HTTP2, Auto} {
				r := ca.rig(t, protocol, serve(t, c.server.Clone(), hello))
				c.change(r.config.TLS)
				_, _, err := r.try()
				if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
					t.Errorf("%q: error %v, want one with %q", protocol, err, c.want)
				}
			}
		})
	}
}

// TestHandshakesThatFailUnderLoad: the first connection is made, all others meet a
// certificate that has expired.
func TestHandshakesThatFailUnderLoad(t *testing.T) {
	ca := newAuthority(t)
	good := ca.server("shop.test", soon())
	expired := ca.server("shop.test", time.Now().Add(-time.Hour))
	for _, protocol := range []Protocol{HTTP1, HTTP2} {
		var connections atomic.Int64
		secure := good.Clone()
		secure.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			if connections.Add(1) == 1 {
				return &good.Certificates[0], nil
			}
			return &expired.Certificates[0], nil
		}
		secure.Certificates = nil
		r := ca.rig(t, protocol, serve(t, secure, hello))
		r.config.KeepAlive = false
		results, report := r.run()
		if ok := results.Count(record.All, record.OK); ok > 1 || ok+results.Count(record.All, record.BadTLS) != 20 {
			t.Errorf("%s: %d ok and %d tls, want 20 with at most one ok", protocol, ok,
				results.Count(record.All, record.BadTLS))
		}
		if !strings.Contains(report.Example, "expired") {
			t.Errorf("%s: example %q, want that the certificate has expired", protocol, report.Example)
		}
	}
}

func TestAnswersAreJudged(t *testing.T) {
	ca := newAuthority(t)
	for _, c := range []struct {
		name    string
		handler http.HandlerFunc
		expect  scenario.Expect
		want    record.Outcome
	}{
		{"right", hello, scenario.Expect{Body: []string{`"ok":true`}}, record.OK},
		{"failure behind 200", hello, scenario.Expect{Body: []string{`"ok":false`}}, record.Failed},
		{"not found", http.NotFound, scenario.Expect{}, record.BadStatus},
		{"busy", answering(503), scenario.Expect{}, record.Rejected},
		{"redirect is not followed", http.RedirectHandler("/elsewhere", http.StatusFound).ServeHTTP,
			scenario.Expect{Status: "302"}, record.OK},
		{"long", long, scenario.Expect{Body: []string{"end"}}, record.TooLarge},
		{"long, not read", long, scenario.Expect{}, record.OK},
		{"long header", longHeader, scenario.Expect{}, record.TooLarge},
		{"early hints", hints, scenario.Expect{Body: []string{`"ok":true`}}, record.OK},
	} {
		t.Run(c.name, func(t *testing.T) {
			address := serve(t, ca.server("shop.test", soon()), c.handler)
			for _, protocol := range []Protocol{HTTP1, HTTP2} {
				r := ca.rig(t, protocol, address)
				r.step().Expect = c.expect
				results, report := r.run()
				want(t, results, map[record.Outcome]int64{c.want: 20})
				if t.Failed() {
					t.Fatalf("%s: %s", protocol, report.Example)
				}
			}
		})
	}
}

func answering(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

// long answers with two megabytes and then the text that is expected.
func long(w http.ResponseWriter, _ *http.Request) {
	for range 32 {
		_, _ = w.Write(make([]byte, 64<<10))
	}
	_, _ = w.Write([]byte("end"))
}

// longHeader answers with more header than the engine takes.
func longHeader(w http.ResponseWriter, r *http.Request) {
	for range 128 {
		w.Header().Add("X-Long", strings.Repeat("x", 1<<10))
	}
	hello(w, r)
}

// hints sends an interim answer first.
func hints(w http.ResponseWriter, r *http.Request) {
	w.WriteHeader(http.StatusEarlyHints)
	hello(w, r)
}

func TestHeadHasNoBody(t *testing.T) {
	address := serve(t, nil, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "11")
		if r.Method != http.MethodHead {
			hello(w, r)
		}
	})
	for _, protocol := range []Protocol{HTTP1, HTTP2} {
		r := newRig(t, protocol, "http://shop.test", address)
		r.step().Request = "HEAD /"
		results, _ := r.run()
		want(t, results, map[record.Outcome]int64{record.OK: 20})
	}
}
