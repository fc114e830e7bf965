// Package registry puts images into a registry that the user names, over its HTTP API, so
// that the nodes of a cluster can pull them. A well-kept library for it would bring more
// code than the few calls which an image of one layer takes.
//
// Sources: the OCI Distribution Specification 1.1 and the OCI Image Specification 1.1; for
// access the token authentication of Docker's registry.
//
// Entry points: Parse, Repository.Push.
package registry

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/cleave-lab/cleave/deploy/bounded"
)

// Variable says where images for clusters of the user's go: HOST/PATH.
const Variable = "CLEAVE_REGISTRY"

// Repository is where images go: a registry, and a path in it that their names begin with.
type Repository struct {
	host, path string
	scheme     string
	http       *http.Client
	login      string // for basic authentication, in base64; empty: nobody in particular

	header string // Authorization that the registry has accepted
}

// Parse reads HOST[:PORT]/PATH, as names of images have it. A registry on loopback, or one
// after http://, is spoken to without TLS. Who logs in, the file of `docker login` says.
func Parse(text string) (*Repository, error) {
	scheme, rest, given := strings.Cut(text, "://")
	if !given {
		scheme, rest = "https", text
	}
	host, path, _ := strings.Cut(strings.Trim(rest, "/"), "/")
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	if ip := net.ParseIP(name); !given && (name == "localhost" || ip != nil && ip.IsLoopback()) {
		scheme = "http"
	}
	known := !given || scheme == "http" || scheme == "https"
	if host == "" || path == "" || !known || strings.Trim(path,
		"abcdefghijklmnopqrstuvwxyz0123456789._-/") != "" {
		return nil, fmt.Errorf("%q is not the place of images in a registry: write HOST/PATH, such as "+
			"registry.example.org/team/cleave", text)
	}
	login, err := loginOf(host)
	client := &http.Client{Timeout: patience}
	if scheme == "https" {
		client.Transport = secured{http.DefaultTransport}
	}
	return &Repository{host: host, path: path, scheme: scheme, login: login, http: client}, err
}

// secured keeps what a registry with TLS is sent from going anywhere in clear: where it asks for the login,
// sends uploads to, or redirects to, it says itself.
type secured struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (s secured) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.URL.Scheme != "https" {
		return nil, fmt.Errorf("the registry sends us to %s://%s, where anybody could read the login: have it "+
			"name an address with https", request.URL.Scheme, request.URL.Host)
	}
	return s.RoundTripper.RoundTrip(request)
}

// patience bounds one call, which may send an image.
const patience = 5 * time.Minute

// loginOf returns what `docker login` has left for a host.
func loginOf(host string) (string, error) {
	folder := os.Getenv("DOCKER_CONFIG")
	if folder == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", nil // then there is none
		}
		folder = filepath.Join(home, ".docker")
	}
	path := filepath.Join(folder, "config.json")
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	var config struct {
		Auths map[string]struct {
			Auth string `json:"auth"`
		} `json:"auths"`
		Store   string            `json:"credsStore"`
		Helpers map[string]string `json:"credHelpers"`
	}
	if err == nil {
		err = json.Unmarshal(text, &config)
	}
	if err != nil {
		return "", fmt.Errorf("read who logs in to the registry: %w", err)
	}
	entry, there := config.Auths[host]
	if there && entry.Auth == "" && (config.Store != "" || config.Helpers[host] != "") {
		return "", fmt.Errorf("the login of %s is kept by a helper of Docker's (%s), which is not asked: "+
			"log in with a DOCKER_CONFIG of its own that names none", host, path)
	}
	return entry.Auth, nil
}

// Login returns what nodes need to pull what we push, as a file of `docker login`; nil: nothing.
func (r *Repository) Login() []byte {
	if r.login == "" {
		return nil
	}
	auths := map[string]any{r.host: map[string]string{"auth": r.login}}
	text, err := json.Marshal(map[string]any{"auths": auths})
	if err != nil {
		return nil // texts can always be encoded
	}
	return text
}

// Identity returns what a manager of a swarm wants to see to let its nodes pull what we push, as JSON
// in base64; "": nothing.
func (r *Repository) Identity() string {
	plain, err := base64.StdEncoding.DecodeString(r.login)
	name, password, is := strings.Cut(string(plain), ":")
	if err != nil || !is {
		return ""
	}
	text, err := json.Marshal(map[string]string{"username": name, "password": password, "serveraddress": r.host})
	if err != nil {
		return "" // texts can always be encoded
	}
	return base64.URLEncoding.EncodeToString(text)
}

// Image is one of a single layer.
type Image struct {
	Name   string // below the repository's path
	Config []byte // the image's configuration, as JSON
	Layer  []byte // its root file system, as an archive (tar)
}

// The types of what is sent.
const (
	manifestType = "application/vnd.oci.image.manifest.v1+json"
	configType   = "application/vnd.oci.image.config.v1+json"
	layerType    = "application/vnd.oci.image.layer.v1.tar+gzip"
)

// descriptor names a blob.
type descriptor struct {
	Type   string `json:"mediaType"`
	Digest string `json:"digest"`
	Size   int    `json:"size"`
}

func describe(kind string, blob []byte) descriptor {
	return descriptor{Type: kind, Digest: fmt.Sprintf("sha256:%x", sha256.Sum256(blob)), Size: len(blob)}
}

// Push puts the image there, unless it is, and returns the name by which nodes pull it. The
// name has the image's digest: what somebody else puts there later is not pulled for it.
func (r *Repository) Push(ctx context.Context, image Image) (name string, err error) {
	layer, err := compress(image.Layer)
	if err != nil {
		return "", err
	}
	blobs := map[string][]byte{layerType: layer, configType: image.Config}
	manifest, err := json.Marshal(map[string]any{
		"schemaVersion": 2, "mediaType": manifestType,
		"config": describe(configType, image.Config), "layers": []descriptor{describe(layerType, layer)},
	})
	if err != nil {
		return "", err
	}
	path, digest := r.path+"/"+image.Name, describe(manifestType, manifest).Digest
	name = r.host + "/" + path + "@" + digest
	fail := func(err error) error {
		return fmt.Errorf("put the image %s into the registry %s: %w", path, r.host, err)
	}
	there, err := r.has(ctx, path+"/manifests/"+digest, path)
	if err != nil || there {
		return name, wrapped(err, fail)
	}
	for kind, blob := range blobs {
		if err := r.upload(ctx, path, describe(kind, blob).Digest, blob); err != nil {
			return "", fail(err)
		}
	}
	_, err = r.call(ctx, http.MethodPut, r.at(path+"/manifests/"+digest), manifestType, manifest, path,
		http.StatusCreated)
	return name, wrapped(err, fail)
}

func wrapped(err error, fail func(error) error) error {
	if err == nil {
		return nil
	}
	return fail(err)
}

func compress(data []byte) ([]byte, error) {
	var into bytes.Buffer
	writer, err := gzip.NewWriterLevel(&into, gzip.BestSpeed)
	if err == nil {
		_, err = writer.Write(data)
	}
	if err == nil {
		err = writer.Close()
	}
	return into.Bytes(), err
}

func (r *Repository) at(path string) string { return r.scheme + "://" + r.host + "/v2/" + path }

// has reports whether something is there.
func (r *Repository) has(ctx context.Context, what, path string) (bool, error) {
	answer, err := r.call(ctx, http.MethodHead, r.at(what), "", nil, path, http.StatusOK, http.StatusNotFound)
	return err == nil && answer.StatusCode == http.StatusOK, err
}

// upload sends a blob, unless it is there.
func (r *Repository) upload(ctx context.Context, path, digest string, blob []byte) error {
	there, err := r.has(ctx, path+"/blobs/"+digest, path)
	if err != nil || there {
		return err
	}
	begun := r.at(path + "/blobs/uploads/")
	answer, err := r.call(ctx, http.MethodPost, begun, "", nil, path, http.StatusAccepted)
	if err != nil {
		return err
	}
	base, err := url.Parse(begun)
	if err != nil {
		return err
	}
	to, err := base.Parse(answer.Header.Get("Location"))
	if err != nil {
		return fmt.Errorf("it says that uploads go to %q: %w", answer.Header.Get("Location"), err)
	}
	query := to.Query()
	query.Set("digest", digest)
	to.RawQuery = query.Encode()
	_, err = r.call(ctx, http.MethodPut, to.String(), "application/octet-stream", blob, path, http.StatusCreated)
	return err
}

// call asks the registry, and once more with what it wants to see of us where it refuses
// strangers. The answer's body is read and closed.
func (r *Repository) call(
	ctx context.Context, method, address, kind string, body []byte, path string, good ...int,
) (*http.Response, error) {
	for again := false; ; again = true {
		answer, said, err := r.send(ctx, method, address, kind, body)
		if err != nil {
			return nil, err
		}
		for _, code := range good {
			if answer.StatusCode == code {
				return answer, nil
			}
		}
		if answer.StatusCode != http.StatusUnauthorized || again {
			return nil, refused(method, address, answer, said, r.login != "")
		}
		if err := r.authorize(ctx, answer.Header.Get("WWW-Authenticate"), path); err != nil {
			return nil, err
		}
	}
}

// refused is the registry's refusal, with what to do.
func refused(method, address string, answer *http.Response, said []byte, known bool) error {
	next := ""
	switch answer.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		if next = ": log in with: docker login"; known {
			next = ": its login (docker login) does not let you write there"
		}
	case http.StatusNotFound:
		next = ": look whether the path is right, and whether the registry wants it made first"
	}
	return fmt.Errorf("%s %s: it answers %s %s%s", method, address, answer.Status, bytes.TrimSpace(said), next)
}

func (r *Repository) send(
	ctx context.Context, method, address, kind string, body []byte,
) (*http.Response, []byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	if kind != "" {
		request.Header.Set("Content-Type", kind)
	}
	request.Header.Set("Accept", manifestType)
	if r.header != "" && request.URL.Host == r.host { // uploads may go elsewhere
		request.Header.Set("Authorization", r.header)
	}
	answer, err := r.http.Do(request)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: look whether the registry runs, and is reached from here", err)
	}
	const most = 4096 // of what it says; answers of importance are in headers
	said, err := io.ReadAll(io.LimitReader(answer.Body, most))
	return answer, said, errors.Join(err, answer.Body.Close())
}

// maxToken is the longest answer that has a token, in bytes.
const maxToken = 1 << 20

// authorize finds out what the registry wants to see: the login itself, or a token for it.
func (r *Repository) authorize(ctx context.Context, challenge, path string) error {
	scheme, rest, _ := strings.Cut(challenge, " ")
	switch strings.ToLower(scheme) {
	case "basic":
		r.header = "Basic " + r.login
		return nil
	case "bearer":
	default:
		return fmt.Errorf("it wants to see %q, of which only Basic and Bearer are known", challenge)
	}
	wanted := map[string]string{}
	for part := range strings.SplitSeq(rest, `",`) {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		wanted[name] = strings.Trim(value, `"`)
	}
	realm, err := url.Parse(wanted["realm"])
	if err != nil || realm.Host == "" {
		return fmt.Errorf("it sends for tokens to %q, which is no address", wanted["realm"])
	}
	realm.RawQuery = url.Values{"service": {wanted["service"]},
		"scope": {"repository:" + path + ":pull,push"}}.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, realm.String(), nil)
	if err != nil {
		return err
	}
	if login, err := base64.StdEncoding.DecodeString(r.login); err == nil && r.login != "" {
		user, password, _ := strings.Cut(string(login), ":")
		request.SetBasicAuth(user, password)
	}
	answer, err := r.http.Do(request)
	if err != nil {
		return fmt.Errorf("ask for a token: %w", err)
	}
	defer func() { _ = answer.Body.Close() }() // only read
	var token struct {
		Token  string `json:"token"`
		Access string `json:"access_token"`
	}
	if answer.StatusCode != http.StatusOK {
		return refused(http.MethodGet, realm.String(), answer, nil, r.login != "")
	}
	if err := json.NewDecoder(bounded.New(answer.Body, maxToken)).Decode(&token); err != nil {
		return fmt.Errorf("the token from %s: %w", realm.Host, err)
	}
	if token.Token == "" {
		token.Token = token.Access
	}
	r.header = "Bearer " + token.Token
	return nil
}
