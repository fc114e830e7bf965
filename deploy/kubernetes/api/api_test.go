package api_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/deploy/deploytest"
	"github.com/cleave-lab/cleave/deploy/kubernetes/api"
	"github.com/cleave-lab/cleave/deploy/kubernetes/private"
	"github.com/cleave-lab/cleave/deploy/launch"
	"github.com/cleave-lab/cleave/internal/testset"
)

// TestAServer checks requests, refusals and watches against a real server. Long because all cases share one
// cluster, which is slow to make.
func TestAServer(t *testing.T) {
	testset.NeedClusters(t)
	if err := private.Missing(); err != nil {
		t.Skip(err)
	}
	label, err := launch.Own()
	testset.Must(t, err)
	cluster, err := private.Up(t.Context(), filepath.Join(t.TempDir(), "cluster"), label.String())
	testset.Must(t, err)
	defer func() { deploytest.NoError(t, cluster.Close()) }()
	const path = "/api/v1/namespaces/default/services"
	ask := func(method, path string, send, answer any) error {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		return cluster.API.Do(ctx, method, path, send, answer)
	}
	var wanted, made, found api.Service
	wanted.Metadata.Name = "front"
	wanted.Spec.Selector = map[string]string{"unit": "front"}
	wanted.Spec.Ports = []api.ServicePort{{Name: "port-0", Port: 8081, TargetPort: 8081}}
	if err := ask(http.MethodPost, path, wanted, &made); err != nil ||
		!strings.HasPrefix(made.Spec.ClusterIP, "198.19.") || made.Metadata.UID == "" {
		t.Errorf("made: %+v, %v", made, err)
	}
	if err := ask(http.MethodGet, path+"/front", nil, &found); err != nil ||
		found.Spec.ClusterIP != made.Spec.ClusterIP || found.Spec.Ports[0] != wanted.Spec.Ports[0] {
		t.Errorf("found: %+v, %v", found, err)
	}
	for name, c := range map[string]struct {
		method, path string
		send         any
		code         int
		says         string
	}{
		"an object that exists": {http.MethodPost, path, wanted, http.StatusConflict,
			`services "front" already exists`},
		"an unknown object": {http.MethodGet, path + "/back", nil, http.StatusNotFound,
			`services "back" not found`},
		"an invalid name": {http.MethodPost, path,
			map[string]any{"metadata": map[string]string{"name": "No!"}}, http.StatusUnprocessableEntity,
			"Invalid value"},
		"an unknown path": {http.MethodGet, "/api/v1/nothing", nil, http.StatusNotFound,
			"could not find the requested resource"},
	} {
		err := ask(c.method, c.path, c.send, nil)
		var refusal *api.Refusal
		if !errors.As(err, &refusal) || refusal.Code != c.code || !strings.Contains(err.Error(), c.says) ||
			!strings.HasPrefix(err.Error(), c.method+" "+c.path) {
			t.Errorf("%s: %v", name, err)
		}
		if api.NotFound(err) != (c.code == http.StatusNotFound) {
			t.Errorf("%s: not found is %v", name, api.NotFound(err))
		}
	}
	deploytest.NoError(t, ask(http.MethodDelete, path+"/front", nil, nil))
	watching(t, cluster.API)
}

// watching checks that Watch reports the creation and the deletion of a pod.
func watching(t *testing.T, client *api.Client) {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	_, version, err := client.Pods(ctx, "default", "unit=front")
	if err != nil || version == "" {
		t.Fatalf("version %q, %v", version, err)
	}
	var pod api.Pod
	pod.Metadata.Name = "front"
	pod.Metadata.Labels = map[string]string{"unit": "front"}
	pod.Spec.NodeSelector = map[string]string{"kubernetes.io/hostname": "nowhere"}
	pod.Spec.Containers = []api.Container{{Name: "unit", Image: "none", ImagePullPolicy: "Never"}}
	testset.Must(t, client.Do(ctx, http.MethodPost, "/api/v1/namespaces/default/pods", pod, nil))
	pods, _, err := client.Pods(ctx, "default", "unit=front")
	if err != nil || len(pods) != 1 || pods[0].Metadata.Name != "front" {
		t.Errorf("pods %+v, %v", pods, err)
	}
	deploytest.NoError(t, client.Do(ctx, http.MethodDelete,
		"/api/v1/namespaces/default/pods/front?gracePeriodSeconds=0", nil, nil))
	var came, went bool
	err = client.Watch(ctx, "default", "unit=front", version, func(pod api.Pod, gone bool) {
		came = came || pod.Metadata.Name == "front" && !gone
		if gone {
			went = true
			cancel()
		}
	})
	if !came || !went || !errors.Is(err, context.Canceled) {
		t.Errorf("Watch reported the creation: %t, the deletion: %t; %v", came, went, err)
	}
	deploytest.Says(t, client.Watch(t.Context(), "default", "", "1x", nil), "1x")
}

// sendWithoutEnd sends a text until nobody reads it.
func sendWithoutEnd(w http.ResponseWriter) {
	_, err := w.Write([]byte(`{"type":"`))
	for piece := bytes.Repeat([]byte("x"), 1<<16); err == nil; {
		_, err = w.Write(piece)
	}
}

// TestServersThatAnswerBadly checks the errors for answers that a real server does not give on request: those
// of a fake server over TLS. Long because it contains that server.
func TestServersThatAnswerBadly(t *testing.T) {
	answers := map[string]func(http.ResponseWriter){
		"/not-json": func(w http.ResponseWriter) { _, _ = w.Write([]byte("<html>")) },
		"/gateway":  func(w http.ResponseWriter) { http.Error(w, "no such upstream", http.StatusBadGateway) },
		"/nothing":  func(w http.ResponseWriter) { w.WriteHeader(http.StatusServiceUnavailable) },
		"/cut-short": func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", "100")
			_, _ = w.Write([]byte("{"))
		},
		"/endless": sendWithoutEnd,
	}
	const pods = "/api/v1/namespaces/default/pods"
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case answers[r.URL.Path] != nil:
			answers[r.URL.Path](w)
		case r.URL.Path == pods && r.URL.Query().Get("resourceVersion") == "old":
			_, _ = w.Write([]byte(`{"type":"ERROR","object":{"code":410,"message":"too old resource version"}}`))
		case r.URL.Path == pods && r.URL.Query().Get("resourceVersion") == "endless":
			sendWithoutEnd(w)
		case r.URL.Path == pods:
			_, _ = w.Write([]byte(`{"type":"ADDED","object":{"metadata":{"name":"front"}}}` + "\n" +
				`{"type":"ADDED","object":{"meta`))
		}
	}))
	defer server.Close()
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	client := api.New(server.URL, &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12})
	defer client.Close()
	for path, want := range map[string]string{
		"/not-json": "read the answer of Kubernetes to GET /not-json: invalid character",
		"/gateway":  "no such upstream (status 502 Bad Gateway)",
		"/nothing":  "(status 503 Service Unavailable)", "/cut-short": "unexpected EOF",
		"/endless": "more than 67108864 bytes",
	} {
		var answer api.Pod
		deploytest.Says(t, client.Do(t.Context(), http.MethodGet, path, nil, &answer), want)
	}
	deploytest.Says(t, client.Watch(t.Context(), "default", "", "old", nil), "too old resource version")
	deploytest.Says(t, client.Watch(t.Context(), "default", "", "endless", nil), "more than 67108864 bytes")
	var seen []string
	err := client.Watch(t.Context(), "default", "", "1",
		func(pod api.Pod, gone bool) { seen = append(seen, pod.Metadata.Name) })
	if len(seen) != 1 || seen[0] != "front" || err == nil || !strings.Contains(err.Error(), "unexpected EOF") {
		t.Errorf("Watch reported the pods %q, and ended with %v", seen, err)
	}
	stranger := api.New(server.URL, &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12})
	deploytest.Says(t, stranger.Do(t.Context(), http.MethodGet, "/", nil, nil), "certificate")
	server.Close()
	deploytest.Says(t, client.Do(t.Context(), http.MethodGet, "/", nil, nil), "ask Kubernetes: ")
}
