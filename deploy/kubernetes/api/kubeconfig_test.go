package api_test

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/deploy/kubernetes/api"
	"github.com/cleave-lab/cleave/internal/testset"
)

// TestOpen checks that clients of two joined files reach the server with every kind of credentials, and the
// errors of contexts that are wrong. Long because it contains the two files.
func TestOpen(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer t0" {
			http.Error(w, "who are you", http.StatusUnauthorized)
		}
	}))
	defer server.Close()
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		testset.Must(t, os.WriteFile(path, []byte(text), 0o700))
		return path
	}
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	write("ca.pem", string(authority))
	write("token", "t0\n")
	helper := write("helper", "#!/bin/sh\necho \"{\\\"status\\\":{\\\"token\\\":\\\"$T\\\"}}\"\n")
	first := write("first", `
current-context: plain
contexts:
- {name: plain, context: {cluster: here, user: token}}
- {name: file, context: {cluster: embedded, user: file}}
- {name: exec, context: {cluster: here, user: exec}}
- {name: relative, context: {cluster: here, user: relative}}
- {name: wrong, context: {cluster: here, user: wrong}}
- {name: halved, context: {cluster: here, user: gone}}
- {name: behind, context: {cluster: behind, user: token}}
- {name: stranger, context: {cluster: stranger, user: token}}
- {name: old, context: {cluster: here, user: old}}
clusters:
- {name: here, cluster: {server: "`+server.URL+`", certificate-authority: ca.pem}}
- {name: embedded, cluster: {server: "`+server.URL+`/", certificate-authority-data: `+
		base64.StdEncoding.EncodeToString(authority)+`}}
- {name: behind, cluster: {server: "`+server.URL+`", proxy-url: "http://proxy"}}
- {name: stranger, cluster: {server: "`+server.URL+`"}}
`)
	second := write("second", `
current-context: other
contexts: [{name: plain, context: {cluster: nowhere, user: nobody}}]
users:
- {name: token, user: {token: t0}}
- {name: file, user: {tokenFile: token, token: old}}
- {name: exec, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: "`+helper+
		`", env: [{name: T, value: t0}]}}}
- {name: relative, user: {exec: {command: ./helper, env: [{name: T, value: t0}]}}}
- {name: wrong, user: {exec: {command: "false"}}}
- {name: old, user: {username: me, password: secret}}
`)
	for name, says := range map[string]string{
		"": "", "plain": "", "file": "", "exec": "", "relative": "", "wrong": "false, which the kubeconfig names",
		"halved": "one is not there", "nobody": `the context "nobody" is not in`, "behind": "proxy",
		"stranger": "certificate", "old": "password",
	} {
		client, _, err := api.Open([]string{first, second, filepath.Join(dir, "none")}, name)
		if err == nil {
			err = client.Do(t.Context(), http.MethodGet, "/version", nil, nil)
		}
		if says == "" && err != nil || says != "" && (err == nil || !strings.Contains(err.Error(), says)) {
			t.Errorf("%q: %v, want %q", name, err, says)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%q tells a secret: %v", name, err)
		}
	}
	if _, _, err := api.Open([]string{filepath.Join(dir, "none")}, ""); err == nil ||
		!strings.Contains(err.Error(), "--kubeconfig") {
		t.Errorf("no file: %v", err)
	}
	if _, _, err := api.Open([]string{write("broken", "contexts: 7")}, ""); err == nil ||
		!strings.Contains(err.Error(), "broken") {
		t.Errorf("a broken file: %v", err)
	}
}

// TestACredentialHelperEndsWithItsRequest checks that a request ends with its context, although a child of
// the helper that prints tokens keeps the helper's output open.
func TestACredentialHelperEndsWithItsRequest(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	helper := in("helper")
	config := in("config")
	child := in("child")
	testset.Must(t, os.WriteFile(helper,
		[]byte("#!/bin/sh\nsleep 60 &\necho $! > "+child+".new\nmv "+child+".new "+child+"\nwait\n"), 0o700))
	testset.Must(t, os.WriteFile(config, []byte(`{current-context: c,
contexts: [{name: c, context: {cluster: c, user: u}}],
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}],
users: [{name: u, user: {exec: {command: ./helper}}}]}`), 0o600))
	client, _, err := api.Open([]string{config}, "")
	testset.Must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for _, missing := os.Stat(child); missing != nil && t.Context().Err() == nil; _, missing = os.Stat(child) {
			time.Sleep(10 * time.Millisecond)
		}
		cancel()
	}()
	begun := time.Now()
	err = client.Do(ctx, http.MethodGet, "/version", nil, nil)
	if took := time.Since(begun); err == nil || took > 30*time.Second {
		t.Errorf("the request ended after %v: %v", took, err)
	}
	testset.Must(t, exec.Command("sh", "-c", "kill $(cat "+child+")").Run())
}

// TestForwardIsRefused checks that the error of Forward holds the server's message.
func TestForwardIsRefused(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write([]byte(`{"code":403,"reason":"Forbidden","message":"you may not"}`))
	}))
	defer server.Close()
	client := api.New(server.URL, &tls.Config{InsecureSkipVerify: true})
	_, err := client.Forward(context.Background(), "default", "front", 8080)
	if err == nil || !strings.Contains(err.Error(), "reach port 8080 of the pod front") ||
		!strings.Contains(err.Error(), "you may not") {
		t.Error(err)
	}
}

// TestAKubeconfigThatIsAPipe checks that nothing waits for the writer of a pipe, be it the kubeconfig or a
// file that it names.
func TestAKubeconfigThatIsAPipe(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	config := filepath.Join(dir, "config")
	testset.Must(t, syscall.Mkfifo(pipe, 0o600))
	testset.Must(t, os.WriteFile(config, []byte(`{current-context: c,
contexts: [{name: c, context: {cluster: c, user: u}}],
clusters: [{name: c, cluster: {server: "https://127.0.0.1", certificate-authority: pipe}}],
users: [{name: u}]}`), 0o600))
	for _, path := range []string{pipe, config} {
		opened := make(chan error, 1)
		go func() {
			_, _, err := api.Open([]string{path}, "")
			opened <- err
		}()
		select {
		case err := <-opened:
			if err == nil || !strings.Contains(err.Error(), "is a pipe") {
				t.Errorf("%s: %v", path, err)
			}
		case <-time.After(10 * time.Second):
			t.Errorf("%s: it waits", path)
		}
	}
}
