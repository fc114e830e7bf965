package stream

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/load/engine"
	"github.com/cleave-lab/cleave/load/record"
	"github.com/cleave-lab/cleave/load/scenario"
	"github.com/cleave-lab/cleave/load/schedule"
)

type authority struct {
	t           *testing.T
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pool        *x509.CertPool // with the certificate
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	testset.Must(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"}, IsCA: true,
		BasicConstraintsValid: true,
		NotBefore:             time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	testset.Must(t, err)
	certificate, err := x509.ParseCertificate(der)
	testset.Must(t, err)
	pool := x509.NewCertPool()
	pool.AddCert(certificate)
	return &authority{t, certificate, key, pool}
}

// server returns a server's configuration with a certificate for a name.
func (a *authority) server(name string, end time.Time, protocols ...string) *tls.Config {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	testset.Must(a.t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), DNSNames: []string{name}, NotBefore: end.Add(-2 * time.Hour), NotAfter: end,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, &key.PublicKey, a.key)
	testset.Must(a.t, err)
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
		NextProtos: protocols}
}

// rig aims a load at an HTTPS server with a certificate of the authority.
func (a *authority) rig(t *testing.T, protocol Protocol, address net.Addr) *rig {
	t.Helper()
	r := newRig(t, protocol, "https://shop.test", address)
	r.config.TLS.RootCAs = a.pool
	return r
}

// soon returns a time at which a certificate that is still valid expires.
func soon() time.Time { return time.Now().Add(time.Hour) }

// rig is one load on a server.
type rig struct {
	t      *testing.T
	config Config
	file   *scenario.File
	watch  func(*record.Recorder) // called before the load
}

// newRig aims a load at an address: by default an open one of 20 operations.
func newRig(t *testing.T, protocol Protocol, url string, address net.Addr) *rig {
	t.Helper()
	config := Config{
		Protocol: protocol, URL: url, TLS: &tls.Config{ServerName: "shop.test"},
		Load: engine.Load{Connections: 2, KeepAlive: true, Duration: time.Hour, Timeout: time.Minute},
	}
	if address.Network() == "unix" {
		config.Unix = address.String()
	} else {
		config.Address = netip.MustParseAddrPort(address.String())
	}
	return &rig{t: t, config: config, file: scenario.Single(scenario.Step{Name: "op", Request: "GET /"})}
}

// step returns the only step of the only flow.
func (r *rig) step() *scenario.Step { return &r.file.Flows[0].Steps[0] }

// open plays n flows, one every millisecond. The load ends when they are done.
func (r *rig) open(n int) {
	r.t.Helper()
	const gap = time.Millisecond
	plan, err := schedule.Constant(1/gap.Seconds(), time.Duration(n)*gap)
	testset.Must(r.t, err)
	r.config.Open = plan.Arrivals()
}

// prepare completes the configuration.
func (r *rig) prepare() {
	r.t.Helper()
	if r.config.Open == nil && r.config.Users == nil {
		r.open(20)
	}
	plan, err := r.file.Compile(r.t.TempDir())
	testset.Must(r.t, err)
	r.config.Player = plan.Player(scenario.Origin{Host: "shop.test", Close: !r.config.KeepAlive})
	r.config.Recorder = record.NewRecorder(record.Options{
		Operations: plan.Operations(), Window: r.config.Duration, Timeout: r.config.Timeout,
	})
	if r.watch != nil {
		r.watch(r.config.Recorder)
	}
}

// run plays the load and returns what was recorded.
func (r *rig) run() (*record.Results, engine.Report) {
	r.t.Helper()
	results, report, err := r.try()
	testset.Must(r.t, err)
	return results, report
}

// try plays the load, which may fail.
func (r *rig) try() (*record.Results, engine.Report, error) {
	r.t.Helper()
	return r.tryUntil(r.t.Context())
}

func (r *rig) tryUntil(ctx context.Context) (*record.Results, engine.Report, error) {
	r.t.Helper()
	r.prepare()
	var report engine.Report
	ended := make(chan error, 1)
	go func() {
		var err error
		report, err = Run(ctx, r.config)
		ended <- err
	}()
	results, err := record.Collect(nil, r.config.Recorder)
	testset.Must(r.t, err)
	return results, report, <-ended
}

// want asserts the number of operations by outcome; missing outcomes must have none.
func want(t *testing.T, results *record.Results, counts map[record.Outcome]int64) {
	t.Helper()
	for _, outcome := range record.Outcomes() {
		if got := results.Count(record.All, outcome); got != counts[outcome] {
			t.Errorf("%d operations ended as %s, want %d", got, outcome, counts[outcome])
		}
	}
}

// serve starts a net/http server that speaks HTTP/1.1 and HTTP/2, over TLS if secure is not nil.
func serve(t *testing.T, secure *tls.Config, handler http.HandlerFunc) net.Addr {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetHTTP1(true)
	server.Config.Protocols.SetHTTP2(true)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Config.ErrorLog = quiet()
	if secure == nil {
		server.Start()
	} else {
		server.TLS = secure
		server.EnableHTTP2 = len(secure.NextProtos) == 0 || secure.NextProtos[0] == "h2"
		server.StartTLS()
	}
	t.Cleanup(server.Close)
	return server.Listener.Addr()
}

// serveAt serves HTTP/1.1 and HTTP/2 in clear text at a listener until the test ends.
func serveAt(t *testing.T, listener net.Listener, handler http.HandlerFunc) *http.Server {
	t.Helper()
	server := &http.Server{Handler: handler, Protocols: new(http.Protocols)}
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetUnencryptedHTTP2(true)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	return server
}

func hello(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"ok":true}`)) }

// accept calls a function for every connection to a listener.
func accept(listener net.Listener, serve func(net.Conn)) net.Addr {
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go serve(conn)
		}
	}()
	return listener.Addr()
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	testset.Must(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	return listener
}
