package engine

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/deploy/compose/dockertest"
	"github.com/cleave-lab/cleave/deploy/launch"
	"github.com/cleave-lab/cleave/internal/testset"
)

// keys writes the files of the docker program for TLS, ca.pem, cert.pem and key.pem, with one
// self-signed certificate for all.
func keys(t *testing.T, folder string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	testset.Must(t, err)
	made := x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	signed, err := x509.CreateCertificate(rand.Reader, &made, &made, key.Public(), key)
	own, notEncoded := x509.MarshalECPrivateKey(key)
	testset.Must(t, errors.Join(err, notEncoded, os.MkdirAll(folder, 0o700)))
	for name, block := range map[string]pem.Block{"ca": {Type: "CERTIFICATE", Bytes: signed},
		"cert": {Type: "CERTIFICATE", Bytes: signed}, "key": {Type: "EC PRIVATE KEY", Bytes: own}} {
		testset.Must(t, os.WriteFile(filepath.Join(folder, name+".pem"), pem.EncodeToMemory(&block), 0o600))
	}
}

// TestOpenNamed opens a daemon that wants a certificate by a context of the docker program, and by its
// address with the keys in a folder, named by the user, the environment or the program's settings. Without
// the keys it is not reached. Long because each way is in it.
func TestOpenNamed(t *testing.T) {
	config := t.TempDir()
	t.Setenv("DOCKER_CONFIG", config)
	id := fmt.Sprintf("%x", sha256.Sum256([]byte("theirs")))
	folder := filepath.Join(config, "contexts", "tls", id, "docker")
	keys(t, folder)
	secured, err := securedBy(folder)
	testset.Must(t, err)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Api-Version", "1.41")
	}))
	server.TLS = &tls.Config{Certificates: secured.Certificates, ClientCAs: secured.RootCAs,
		ClientAuth: tls.RequireAndVerifyClientCert}
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // one client speaks no TLS
	server.StartTLS()
	t.Cleanup(server.Close)
	address := "tcp://" + server.Listener.Addr().String()
	meta := filepath.Join(config, "contexts", "meta", id)
	err = errors.Join(os.MkdirAll(meta, 0o700), os.WriteFile(filepath.Join(meta, "meta.json"),
		[]byte(`{"Name":"theirs","Endpoints":{"docker":{"Host":"`+address+`"}}}`), 0o600))
	testset.Must(t, err)
	for name, c := range map[string]struct{ named, verify, keys, says string }{
		"a context":              {"theirs", "", "", ""},
		"an address with keys":   {address, "1", folder, ""},
		"an address without":     {address, "", "", "400"}, // what a server of TLS says to HTTP
		"no such context":        {"others", "", "", `no context "others"`},
		"keys that are not here": {address, "1", config, "cert.pem"},
		"another way":            {"ssh://me@there", "", "", "ssh -L"},
	} {
		t.Setenv("DOCKER_TLS_VERIFY", c.verify)
		t.Setenv("DOCKER_CERT_PATH", c.keys)
		client, err := OpenNamed(t.Context(), c.named)
		if c.says == "" && (err != nil || client.Version() != "1.41") ||
			c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
	}
	set := filepath.Join(config, "config.json")
	for name, c := range map[string]struct{ host, context, set, verify, keys string }{
		"the host of the environment":    {host: address, verify: "1", keys: folder},
		"the context of the environment": {context: "theirs"},
		"the context that is set":        {set: `{"currentContext":"theirs"}`},
	} {
		t.Setenv("DOCKER_HOST", c.host)
		t.Setenv("DOCKER_CONTEXT", c.context)
		t.Setenv("DOCKER_TLS_VERIFY", c.verify)
		t.Setenv("DOCKER_CERT_PATH", c.keys)
		testset.Must(t, os.WriteFile(set, []byte(cmp.Or(c.set, "{}")), 0o600))
		if client, err := Open(t.Context()); err != nil || client.Version() != "1.41" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestARealDaemonOverTLS checks that a daemon on TCP accepts a client with a certificate of its authority,
// and rejects all others.
func TestARealDaemonOverTLS(t *testing.T) {
	testset.Need(t, "it starts a Docker daemon")
	ports, err := launch.ReservePorts(1)
	testset.Must(t, err)
	defer ports.Close()
	theirs := t.TempDir()
	strangers := t.TempDir()
	keys(t, theirs)
	keys(t, strangers)
	address := "tcp://" + launch.Loopback(ports.Numbers[0])
	dockertest.Private(t, "--host", address, "--tlsverify", "--tlscacert", filepath.Join(theirs, "ca.pem"),
		"--tlscert", filepath.Join(theirs, "cert.pem"), "--tlskey", filepath.Join(theirs, "key.pem"))
	t.Setenv("DOCKER_HOST", address)
	for name, c := range map[string]struct{ verify, keys, says string }{
		"its keys":      {"1", theirs, ""},
		"others' keys":  {"1", strangers, "certificate"},
		"without TLS":   {"", "", "HTTP request to an HTTPS server"},
		"no keys there": {"1", t.TempDir(), "cert.pem"},
	} {
		t.Setenv("DOCKER_TLS_VERIFY", c.verify)
		t.Setenv("DOCKER_CERT_PATH", c.keys)
		client, err := Open(t.Context())
		if err == nil {
			_, err = client.Containers(t.Context(), "cleave=none")
		}
		if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
	}
}
