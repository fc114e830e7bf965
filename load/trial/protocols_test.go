package trial

import (
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
)

// TestProtocols plays the same load over everything that net/http can serve. Long because it is a table.
func TestProtocols(t *testing.T) {
	var last atomic.Value
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		last.Store(r.Proto)
		if r.URL.Path == "/full" {
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, "no\n\troom"+strings.Repeat(" here", 100))
			return
		}
		_, _ = io.WriteString(w, "fine")
	})
	encrypted := httptest.NewUnstartedServer(handler)
	encrypted.EnableHTTP2 = true
	encrypted.StartTLS()
	t.Cleanup(encrypted.Close)
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: encrypted.Certificate().Raw})
	clear := serve(t, handler)

	for name, c := range map[string]struct {
		url    string
		change func(*Spec)
		want   string
		engine string
	}{
		"plain":          {clear, func(*Spec) {}, "HTTP/1.1", "http1"},
		"plain, one use": {clear, func(s *Spec) { s.OneUse = true }, "HTTP/1.1", "http1"},
		"h2c":            {clear, func(s *Spec) { s.Protocol = HTTP2 }, "HTTP/2.0", "stream"},
		"h2": {encrypted.URL, func(s *Spec) { s.Roots, s.Streams = authority, 2 }, "HTTP/2.0",
			"stream"},
		"insecure": {encrypted.URL, func(s *Spec) { s.Insecure = true }, "HTTP/2.0", "stream"},
	} {
		t.Run(name, func(t *testing.T) {
			s := specFor(t, c.url)
			c.change(&s)
			o := play(t, s)
			if sum := o.Summary; sum.OK == 0 || sum.Sent != sum.OK+sum.InFlight || sum.Generator.Engine != c.engine {
				t.Errorf("%d of %d operations ok by %s, errors %v", sum.OK, sum.Sent, sum.Generator.Engine, sum.Errors)
			}
			if last.Load() != c.want {
				t.Errorf("the server saw %v, want %s", last.Load(), c.want)
			}
			if noted := strings.Contains(strings.Join(o.Summary.Notes, "\n"), "CERTIFICATES"); noted != s.Insecure {
				t.Errorf("notes %q", o.Summary.Notes)
			}
			s = specFor(t, c.url+"/full")
			c.change(&s)
			o = play(t, s)
			// A sample is at most 200 bytes of the body, and "...".
			samples := o.Summary.ErrorSamples[http.StatusServiceUnavailable]
			if len(o.Summary.ErrorSamples) != 1 || len(samples) != 1 || len(samples[0]) > 203 ||
				!strings.HasPrefix(samples[0], "no room here") {
				t.Errorf("kept %v, want the beginning of the body that came with 503", o.Summary.ErrorSamples)
			}
		})
	}
	untrusted := specFor(t, encrypted.URL)
	if _, err := prepare(t, untrusted).Play(t.Context(), Hooks{}); err == nil ||
		!strings.Contains(err.Error(), "certificate") {
		t.Errorf("error %v, want one about the certificate", err)
	}
}

func TestUnixSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "socket")
	listener, err := net.Listen("unix", path)
	testset.Must(t, err)
	serveAt(t, listener, fine)
	s := specFor(t, "http://shop.test/")
	s.Unix = path
	if o := play(t, s); o.Summary.OK == 0 || !strings.HasSuffix(o.Summary.Target, " at "+path) {
		t.Errorf("%d ok at %q", o.Summary.OK, o.Summary.Target)
	}
}
