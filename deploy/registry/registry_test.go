package registry

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/deploy/deploytest"
	"github.com/cleave-lab/cleave/deploy/registry/registrytest"
	"github.com/cleave-lab/cleave/internal/testset"
)

// TestParse checks which scheme, host and path a text names, and that others are refused with the form.
func TestParse(t *testing.T) {
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	for text, want := range map[string]string{
		"registry.example.org/team/cleave": "https registry.example.org team/cleave",
		"registry.example.org:5000/cleave": "https registry.example.org:5000 cleave",
		"localhost:5000/cleave":            "http localhost:5000 cleave",
		"127.0.0.1:5000/cleave/":           "http 127.0.0.1:5000 cleave",
		"http://10.0.0.1:5000/cleave":      "http 10.0.0.1:5000 cleave",
		"https://localhost/cleave":         "https localhost cleave",
		"registry.example.org":             "", "": "", "/cleave": "", "ftp://host/cleave": "", "host/Cleave": "",
		"host/a b": "",
	} {
		r, err := Parse(text)
		switch {
		case want == "" && (err == nil || !strings.Contains(err.Error(), "HOST/PATH")):
			t.Errorf("%q: %v", text, err)
		case want != "" && (err != nil || r.scheme+" "+r.host+" "+r.path != want):
			t.Errorf("%q: %+v, %v, want %s", text, r, err, want)
		}
	}
}

// TestAnEmptyVariableNamesNoRepository checks that the variable may be set and empty, as scripts leave it.
func TestAnEmptyVariableNamesNoRepository(t *testing.T) {
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	for text, want := range map[string]bool{"": false, "localhost:5000/cleave": true} {
		r, err := FromEnvironment(func(name string) (string, bool) { return text, name == Variable })
		if err != nil || (r != nil) != want {
			t.Errorf("%q: %+v, %v, want a repository: %t", text, r, err, want)
		}
	}
}

// logIn writes a file as `docker login` does, and makes it the one in use.
func logIn(t *testing.T, text string) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("DOCKER_CONFIG", dir)
	testset.Must(t, os.WriteFile(filepath.Join(dir, "config.json"), []byte(text), 0o600))
}

// TestPush puts an image into registries that want no login, a login, or a token for it, and
// checks that nothing is sent the second time. Long because the registry is in it.
func TestPush(t *testing.T) {
	login := base64.StdEncoding.EncodeToString([]byte("me:secret"))
	for name, wants := range map[string]string{"no login": "", "a login": "Basic", "a token": "Bearer"} {
		t.Run(name, func(t *testing.T) {
			kept := &registrytest.Registry{}
			var server *httptest.Server
			server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				user, password, known := r.BasicAuth()
				known = known && user == "me" && password == "secret"
				switch {
				case r.URL.Path == "/token":
					if !known || r.URL.Query().Get("scope") != "repository:team/unit:pull,push" ||
						r.URL.Query().Get("service") != "here" {
						http.Error(w, "who are you", http.StatusUnauthorized)
						return
					}
					_, _ = w.Write([]byte(`{"token":"t0"}`))
				case wants == "Basic" && !known:
					w.Header().Set("WWW-Authenticate", `Basic realm="all"`)
					http.Error(w, "who are you", http.StatusUnauthorized)
				case wants == "Bearer" && r.Header.Get("Authorization") != "Bearer t0":
					w.Header().Set("WWW-Authenticate", `Bearer realm="`+server.URL+`/token",service="here"`)
					http.Error(w, "who are you", http.StatusUnauthorized)
				default:
					kept.ServeHTTP(w, r)
				}
			}))
			defer server.Close()
			host := strings.TrimPrefix(server.URL, "http://")
			logIn(t, `{"auths":{"`+host+`":{"auth":"`+login+`"}}}`)
			r, err := Parse(host + "/team")
			testset.Must(t, err)
			image := Image{Name: "unit", Config: []byte("{}"), Layer: []byte("layer")}
			first, err := r.Push(t.Context(), image)
			if err != nil || !strings.HasPrefix(first, host+"/team/unit@sha256:") {
				t.Fatalf("%q, %v", first, err)
			}
			second, err := r.Push(t.Context(), image)
			if err != nil || second != first || kept.Pushed != 1 {
				t.Errorf("again: %q, %v, pushed %d times", second, err, kept.Pushed)
			}
			image.Config = []byte(`{"os":"linux"}`)
			if third, err := r.Push(t.Context(), image); err != nil || third == first || kept.Pushed != 2 {
				t.Errorf("another: %q, %v, pushed %d times", third, err, kept.Pushed)
			}
			if wants == "" {
				return
			}
			for text, says := range map[string]string{
				`{"auths":{}}`: "log in with: docker login",
				`{"auths":{"` + host + `":{"auth":"` + base64.StdEncoding.EncodeToString([]byte("me:wrong")) +
					`"}}}`: "does not let you write there",
			} {
				logIn(t, text)
				if r, err = Parse(host + "/team"); err != nil {
					t.Fatal(err)
				}
				if _, err := r.Push(t.Context(), image); err == nil || !strings.Contains(err.Error(), says) ||
					strings.Contains(err.Error(), "wrong") {
					t.Errorf("%v, want it to say %q", err, says)
				}
			}
		})
	}
}

// TestLayersArePackedWhole checks that a compressed layer has its end, without which nodes refuse it.
func TestLayersArePackedWhole(t *testing.T) {
	packed, err := compress([]byte("layer"))
	testset.Must(t, err)
	reader, err := gzip.NewReader(bytes.NewReader(packed))
	testset.Must(t, err)
	if layer, err := io.ReadAll(reader); err != nil || string(layer) != "layer" {
		t.Errorf("%q, %v", layer, err)
	}
}

// TestRegistriesThatRefuse checks the advice for refusals of a registry, and for one that does not run.
func TestRegistriesThatRefuse(t *testing.T) {
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	codes := map[string]int{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", r.URL.Path)
		w.WriteHeader(codes[r.Method])
	}))
	defer server.Close()
	for says, answers := range map[string]map[string]int{
		"status code 403: Forbidden: log in with: docker login": {"HEAD": 404, "POST": 403},
		"wants it made first": {"HEAD": 404, "POST": 404},
		"status code 507":     {"HEAD": 404, "POST": 202, "PUT": 507},
		"status code 401: Unauthorized: log in with: docker login": {"HEAD": 401},
	} {
		codes = answers
		r, err := Parse(strings.TrimPrefix(server.URL, "http://") + "/team")
		testset.Must(t, err)
		_, err = r.Push(t.Context(), Image{Name: "unit", Config: []byte("{}")})
		deploytest.Says(t, err, says)
	}
	r, err := Parse(strings.TrimPrefix(server.URL, "http://") + "/team")
	testset.Must(t, err)
	server.Close()
	_, err = r.Push(t.Context(), Image{Name: "unit"})
	deploytest.Says(t, err, "look whether the registry runs")
}

// TestLoginsOfHelpersAreRefused checks that Parse refuses a registry whose login a helper of Docker has, and
// takes one of which only other logins are with helpers.
func TestLoginsOfHelpersAreRefused(t *testing.T) {
	for _, text := range []string{
		`{"auths":{"registry.example.org":{}},"credsStore":"desktop"}`,
		`{"credHelpers":{"registry.example.org":"cloud"}}`,
	} {
		logIn(t, text)
		_, err := Parse("registry.example.org/team")
		deploytest.Says(t, err, "helper")
	}
	logIn(t, `{"credsStore":"desktop","credHelpers":{"another.example.org":"cloud"}}`)
	_, err := Parse("registry.example.org/team") // needs no login, as far as Docker knows
	deploytest.NoError(t, err)
}

// TestTheLoginOfDockerHubIsFound checks that the login of docker.io is found, which `docker login` saves
// under an address of its own, and that it is sent to the host that docker.io stands for.
func TestTheLoginOfDockerHubIsFound(t *testing.T) {
	login := base64.StdEncoding.EncodeToString([]byte("me:secret"))
	logIn(t, `{"auths":{"https://index.docker.io/v1/":{"auth":"`+login+`"}}}`)
	r, err := Parse("docker.io/me/cleave")
	testset.Must(t, err)
	if r.login != login {
		t.Fatalf("the login is %q, want %q", r.login, login)
	}
	sent, err := r.client.Credential(t.Context(), "registry-1.docker.io")
	if err != nil || sent.Username != "me" || sent.Password != "secret" {
		t.Errorf("it sends %+v (%v), want me and my password", sent, err)
	}
	identity, err := base64.URLEncoding.DecodeString(r.Identity())
	if err != nil || !strings.Contains(string(identity), `"serveraddress":"https://index.docker.io/v1/"`) {
		t.Errorf("the nodes of a swarm log in with %s (%v)", identity, err)
	}
	logIn(t, `{"auths":{"https://index.docker.io/v1/":{}},"credsStore":"desktop"}`)
	_, err = Parse("docker.io/me/cleave")
	deploytest.Says(t, err, "helper")
}

// TestNothingInClear checks that the login of a registry with TLS is sent nowhere without TLS.
func TestNothingInClear(t *testing.T) {
	asked := make(chan string, 10)
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.Header.Get("Authorization")
		_, _ = w.Write([]byte(`{"token":"t0"}`))
	}))
	defer plain.Close()
	for says, answers := range map[string]http.HandlerFunc{
		"/token\" uses http": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("WWW-Authenticate", `Bearer realm="`+plain.URL+`/token",service="here"`)
			w.WriteHeader(http.StatusUnauthorized)
		},
		"is on a different host than the registry": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", plain.URL+"/upload")
			if r.Method == http.MethodHead {
				w.WriteHeader(http.StatusNotFound)
			} else {
				w.WriteHeader(http.StatusAccepted)
			}
		},
		"where anybody could read the login": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, plain.URL, http.StatusTemporaryRedirect)
		},
	} {
		server := httptest.NewTLSServer(answers)
		host := strings.TrimPrefix(server.URL, "https://")
		login := base64.StdEncoding.EncodeToString([]byte("me:secret"))
		logIn(t, `{"auths":{"`+host+`":{"auth":"`+login+`"}}}`)
		r, err := Parse(server.URL + "/team")
		testset.Must(t, err)
		trusting := server.Client().Transport
		if _, ours := r.client.Client.Transport.(secured); ours {
			trusting = secured{trusting}
		}
		r.client.Client.Transport = trusting
		_, err = r.Push(t.Context(), Image{Name: "unit", Config: []byte("{}"), Layer: []byte("layer")})
		server.Close()
		deploytest.Says(t, err, says)
	}
	close(asked)
	for seen := range asked {
		t.Errorf("it was asked in clear, with %q", seen)
	}
}
