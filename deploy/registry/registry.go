// Package registry puts images into a registry that the user names, over its HTTP API, so
// that the nodes of a cluster can pull them.
//
// Entry points: Parse, Repository.Load.
package registry

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/opencontainers/image-spec/specs-go"
	oci "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"
	"oras.land/oras-go/v2/registry/remote/errcode"

	"github.com/cleave-lab/cleave/deploy/containers"
	"github.com/cleave-lab/cleave/deploy/engine"
	"github.com/cleave-lab/cleave/inputfile"
)

// Variable is the environment variable with the destination of images for users' clusters: HOST/PATH.
const Variable = "CLEAVE_REGISTRY"

// Repository is the destination of images: a registry, and a path in it that their names begin with.
type Repository struct {
	host, path string
	scheme     string
	login      string // "user:password" in base64; "": anonymous
	client     *auth.Client
}

// FromEnvironment returns the repository that Variable names, or nil if it is not set or empty.
func FromEnvironment(lookup func(string) (string, bool)) (*Repository, error) {
	text, _ := lookup(Variable)
	if text == "" {
		return nil, nil
	}
	return Parse(text)
}

// Parse returns the repository at HOST[:PORT]/PATH, with the login that `docker login` has
// saved. It uses no TLS for a registry on loopback, or one after http://.
func Parse(text string) (*Repository, error) {
	scheme, rest, hasScheme := strings.Cut(text, "://")
	if !hasScheme {
		scheme, rest = "https", text
	}
	host, path, _ := strings.Cut(strings.Trim(rest, "/"), "/")
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	isLoopback := name == "localhost" || net.ParseIP(name).IsLoopback()
	if isLoopback && !hasScheme {
		scheme = "http"
	}
	isWeb := scheme == "http" || scheme == "https"
	isPath := path != "" && strings.Trim(path, "abcdefghijklmnopqrstuvwxyz0123456789._-/") == ""
	if host == "" || !isPath || !isWeb {
		return nil, fmt.Errorf("%q is not the place of images in a registry: write HOST/PATH, such as "+
			"registry.example.org/team/cleave", text)
	}
	login, err := loginOf(host)
	client := &http.Client{Timeout: patience, Transport: http.DefaultTransport}
	if scheme == "https" {
		client.Transport = secured{http.DefaultTransport}
	}
	r := &Repository{host: host, path: path, scheme: scheme, login: login}
	r.client = &auth.Client{Client: client, Cache: auth.NewCache()}
	if user, password, exists := r.account(); exists {
		r.client.Credential = auth.StaticCredential(host, auth.Credential{Username: user, Password: password})
	}
	return r, err
}

// secured refuses requests without TLS. A registry with TLS may name other addresses, for the login,
// uploads or redirections, and the login must not go there in clear text.
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

// maxConfig bounds the file of `docker login`, in bytes.
const maxConfig = 16 << 20

// loginOf returns the login that `docker login` has saved for a host, "user:password" in base64; "" if
// there is none.
func loginOf(host string) (string, error) {
	folder, err := engine.Settings()
	if err != nil {
		return "", nil // without a home there is none
	}
	path := filepath.Join(folder, "config.json")
	text, err := inputfile.Read(path, maxConfig)
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
	address := credentials.ServerAddressFromRegistry(host) // the host, or the URL that stands for Docker Hub
	entry, listed := config.Auths[address]
	isInStore := listed && config.Store != "" // `docker login` lists such a host, too
	hasHelper := isInStore || config.Helpers[address] != ""
	if entry.Auth == "" && hasHelper {
		return "", fmt.Errorf("the login of %s is kept by a helper of Docker's (%s), which is not asked: "+
			"log in with a DOCKER_CONFIG of its own that names none", host, path)
	}
	return entry.Auth, nil
}

// Login returns the login with which nodes pull the images, as a file of `docker login`; nil if they need
// none.
func (r *Repository) Login() []byte {
	if r.login == "" {
		return nil
	}
	auths := map[string]any{r.host: map[string]string{"auth": r.login}}
	text, _ := json.Marshal(map[string]any{"auths": auths}) // texts can always be encoded
	return text
}

// Identity returns the login with which nodes pull the images, in the form that a manager of a swarm wants,
// JSON in base64; "" if they need none.
func (r *Repository) Identity() string {
	name, password, exists := r.account()
	if !exists {
		return ""
	}
	identity := map[string]string{"username": name, "password": password,
		"serveraddress": credentials.ServerAddressFromRegistry(r.host)}
	text, _ := json.Marshal(identity) // texts can always be encoded
	return base64.URLEncoding.EncodeToString(text)
}

// account returns the user and password of the login, and whether there is one.
func (r *Repository) account() (name, password string, exists bool) {
	plain, err := base64.StdEncoding.DecodeString(r.login)
	if err != nil {
		return "", "", false
	}
	return strings.Cut(string(plain), ":")
}

// Load does what containers.Images.Load does for the nodes of a user's cluster: it puts the image of a
// content, with the starter beside its program, into the registry. Nodes pull users' images by their own
// names.
func (r *Repository) Load(
	ctx context.Context, starter, content string, isUsers bool,
) (image string, bytes int, err error) {
	if isUsers {
		return content, 0, nil
	}
	name, config, layer, err := containers.RegistryImage(content, starter)
	if err == nil {
		image, err = r.Push(ctx, Image{Name: name, Config: config, Layer: layer})
	}
	return image, len(layer), err
}

// Image is an image with a single layer.
type Image struct {
	Name   string // below the repository's path
	Config []byte // the image's configuration, as JSON
	Layer  []byte // its root file system, as an archive (tar)
}

// Push puts the image into the registry, unless it is there, and returns the name by which nodes
// pull it. The name has the image's digest, so that nodes never pull another image instead.
func (r *Repository) Push(ctx context.Context, image Image) (name string, err error) {
	path := r.path + "/" + image.Name
	to, err := remote.NewRepository(r.host + "/" + path)
	if err != nil {
		return "", fmt.Errorf("the image %s: %w", path, err)
	}
	to.Client = r.client
	to.PlainHTTP = r.scheme == "http"
	layer, err := compress(image.Layer)
	if err != nil {
		return "", err
	}
	config := content.NewDescriptorFromBytes(oci.MediaTypeImageConfig, image.Config)
	packed := content.NewDescriptorFromBytes(oci.MediaTypeImageLayerGzip, layer)
	manifest, err := json.Marshal(oci.Manifest{Versioned: specs.Versioned{SchemaVersion: 2},
		MediaType: oci.MediaTypeImageManifest, Config: config, Layers: []oci.Descriptor{packed}})
	if err != nil {
		return "", err
	}
	whole := content.NewDescriptorFromBytes(oci.MediaTypeImageManifest, manifest)
	name = r.host + "/" + path + "@" + whole.Digest.String()
	// one token for all requests
	ctx = auth.AppendRepositoryScope(ctx, to.Reference, auth.ActionPull, auth.ActionPush)
	isPushed, err := to.Exists(ctx, whole)
	for _, blob := range []struct {
		oci.Descriptor
		data []byte
	}{{packed, layer}, {config, image.Config}, {whole, manifest}} {
		if err != nil || isPushed {
			break
		}
		var exists bool
		if exists, err = to.Exists(ctx, blob.Descriptor); err == nil && !exists {
			err = to.Push(ctx, blob.Descriptor, bytes.NewReader(blob.data))
		}
	}
	if err != nil {
		return "", fmt.Errorf("put the image %s into the registry %s: %w%s", path, r.host, err, r.advice(err))
	}
	return name, nil
}

// compress returns data compressed by gzip.
func compress(data []byte) ([]byte, error) {
	var into bytes.Buffer
	writer, _ := gzip.NewWriterLevel(&into, gzip.BestSpeed) // the level is valid
	_, err := writer.Write(data)
	err = errors.Join(err, writer.Close())
	return into.Bytes(), err
}

// advice returns what to do about an error of the registry, as a suffix of its message.
func (r *Repository) advice(err error) string {
	var refused *errcode.ErrorResponse
	status := 0
	if errors.As(err, &refused) {
		status = refused.StatusCode
	}
	var unsent *net.OpError
	mayNot := status == http.StatusUnauthorized || status == http.StatusForbidden
	switch {
	case mayNot && r.login != "":
		return ": its login (docker login) does not let you write there"
	case mayNot, errors.Is(err, auth.ErrBasicCredentialNotFound):
		return ": log in with: docker login"
	case status == http.StatusNotFound:
		return ": look whether the path is right, and whether the registry wants it made first"
	case errors.As(err, &unsent):
		return ": look whether the registry runs, and is reached from here"
	}
	return ""
}
