package api

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/cleave-lab/cleave/inputfile"
)

// maxFile bounds a kubeconfig, and each file that it names, in bytes.
const maxFile = 16 << 20

// kubeconfig holds the fields of kubectl's configuration that Cleave reads. If several files define a name,
// the first one counts.
type kubeconfig struct {
	Current  string `yaml:"current-context"`
	Contexts []entry
	Clusters []entry
	Users    []entry
}

// entry is a context, a cluster or a user: only the field of that kind is set.
type entry struct {
	Name    string
	Context contextEntry
	Cluster clusterEntry
	User    userEntry
}

// find returns the first entry with a name, or nil.
func find(all []entry, name string) *entry {
	if i := slices.IndexFunc(all, func(e entry) bool { return e.Name == name }); i >= 0 {
		return &all[i]
	}
	return nil
}

type contextEntry struct {
	Cluster string `yaml:"cluster"`
	User    string `yaml:"user"`
}

type clusterEntry struct {
	Server     string `yaml:"server"`
	Authority  string `yaml:"certificate-authority"`
	Data       string `yaml:"certificate-authority-data"`
	ServerName string `yaml:"tls-server-name"`
	Insecure   bool   `yaml:"insecure-skip-tls-verify"`
	Proxy      string `yaml:"proxy-url"`
}

type userEntry struct {
	Certificate     string         `yaml:"client-certificate"`
	CertificateData string         `yaml:"client-certificate-data"`
	Key             string         `yaml:"client-key"`
	KeyData         string         `yaml:"client-key-data"`
	Token           string         `yaml:"token"`
	TokenFile       string         `yaml:"tokenFile"`
	Username        string         `yaml:"username"`
	AuthProvider    map[string]any `yaml:"auth-provider"`
	Exec            *execEntry     `yaml:"exec"`
}

type execEntry struct {
	Version string   `yaml:"apiVersion"`
	Command string   `yaml:"command"`
	Args    []string `yaml:"args"`
	Env     []struct {
		Name  string `yaml:"name"`
		Value string `yaml:"value"`
	} `yaml:"env"`
}

// Open returns a client for the chosen context of kubeconfig files, or for the current one if chosen is
// empty. It does not connect yet. named is the name of the context.
func Open(paths []string, chosen string) (client *Client, named string, err error) {
	all, err := readFiles(paths)
	if err != nil {
		return nil, "", err
	}
	named = cmp.Or(chosen, all.Current)
	found := find(all.Contexts, named)
	if found == nil {
		var known []string
		for _, c := range all.Contexts {
			known = append(known, c.Name)
		}
		return nil, "", fmt.Errorf("the context %q is not in %s, which has %q: name one of them", named,
			strings.Join(paths, ", "), known)
	}
	of := found.Context
	cluster := find(all.Clusters, of.Cluster)
	user := find(all.Users, of.User)
	if cluster == nil || user == nil {
		return nil, "",
			fmt.Errorf("the context %q of %s is of the cluster %q and the user %q, of which one is not there",
				named, strings.Join(paths, ", "), of.Cluster, of.User)
	}
	client, err = connect(cluster.Cluster, user.User)
	if err != nil {
		return nil, "", fmt.Errorf("the context %q of %s: %w", named, strings.Join(paths, ", "), err)
	}
	return client, named, nil
}

// readFiles reads and joins files. It skips missing files, and fails if all are missing.
func readFiles(paths []string) (kubeconfig, error) {
	var all kubeconfig
	found := false
	for _, path := range paths {
		text, err := inputfile.Read(path, maxFile)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		var one kubeconfig
		if err == nil {
			err = yaml.Unmarshal(text, &one)
		}
		if err != nil {
			return all, fmt.Errorf("read the kubeconfig %s: %w", path, err)
		}
		found = true
		if all.Current == "" {
			all.Current = one.Current
		}
		folder, err := filepath.Abs(filepath.Dir(path)) // relative paths in the file begin here
		if err != nil {
			return all, fmt.Errorf("find the folder of the kubeconfig %s: %w", path, err)
		}
		for i := range one.Clusters {
			one.Clusters[i].Cluster.Authority = below(folder, one.Clusters[i].Cluster.Authority)
		}
		for i := range one.Users {
			u := &one.Users[i].User
			u.Certificate = below(folder, u.Certificate)
			u.Key = below(folder, u.Key)
			u.TokenFile = below(folder, u.TokenFile)
			if u.Exec != nil && strings.Contains(u.Exec.Command, "/") { // otherwise it is found in PATH
				u.Exec.Command = below(folder, u.Exec.Command)
			}
		}
		all.Contexts = append(all.Contexts, one.Contexts...)
		all.Clusters = append(all.Clusters, one.Clusters...)
		all.Users = append(all.Users, one.Users...)
	}
	if !found {
		return all, fmt.Errorf("there is no kubeconfig %s: say where it is (--kubeconfig FILE, or KUBECONFIG)",
			strings.Join(paths, ", "))
	}
	return all, nil
}

// below returns a path that may be relative to a folder; "" stays "".
func below(folder, path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(folder, path)
}

// connect returns the client of a user. It returns an error that names a setting that is not supported.
func connect(cluster clusterEntry, user userEntry) (*Client, error) {
	switch {
	case !strings.HasPrefix(cluster.Server, "https://"):
		return nil, fmt.Errorf("its server is %q, and only https:// is supported", cluster.Server)
	case cluster.Proxy != "":
		return nil, fmt.Errorf("its server is behind the proxy %s, which is not supported: give it an address "+
			"that needs none", cluster.Proxy)
	case user.Username != "" || user.AuthProvider != nil:
		return nil, errors.New("its user has a password or an auth-provider, which Kubernetes no longer knows: " +
			"use a certificate, a token or exec")
	}
	trust := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: cluster.ServerName,
		InsecureSkipVerify: cluster.Insecure}
	authority, noAuthority := dataOr(cluster.Data, cluster.Authority)
	certificate, noCertificate := dataOr(user.CertificateData, user.Certificate)
	key, noKey := dataOr(user.KeyData, user.Key)
	if err := errors.Join(noAuthority, noCertificate, noKey); err != nil {
		return nil, err
	}
	if authority != nil {
		trust.RootCAs = x509.NewCertPool()
		if !trust.RootCAs.AppendCertsFromPEM(authority) {
			return nil, errors.New("its certificate authority holds no certificate")
		}
	}
	if certificate != nil {
		pair, err := tls.X509KeyPair(certificate, key)
		if err != nil {
			return nil, fmt.Errorf("its client certificate: %w", err)
		}
		trust.Certificates = []tls.Certificate{pair}
	}
	client := New(strings.TrimSuffix(cluster.Server, "/"), trust)
	switch {
	case user.TokenFile != "": // its content changes
		client.token = func(context.Context) (string, error) {
			text, err := inputfile.Read(user.TokenFile, maxFile)
			return strings.TrimSpace(string(text)), err
		}
	case user.Token != "":
		client.token = func(context.Context) (string, error) { return user.Token, nil }
	case user.Exec != nil:
		client.token = (&credentials{from: *user.Exec}).token
	}
	return client, nil
}

// dataOr returns data, which is base64, or else the content of the file at path; nil: both are empty.
func dataOr(data, path string) ([]byte, error) {
	if data != "" {
		text, err := base64.StdEncoding.DecodeString(data)
		if err != nil {
			return nil, fmt.Errorf("its data are not base64: %w", err)
		}
		return text, nil
	}
	if path != "" {
		return inputfile.Read(path, maxFile)
	}
	return nil, nil
}

// credentials are the tokens that a program of the user's prints. Each is used until it expires.
//
// Source: the ExecCredential of client.authentication.k8s.io.
type credentials struct {
	from execEntry

	mu      sync.Mutex
	last    string
	expires time.Time // zero: never
}

// token returns the last token, or a new one if that expires too soon.
func (c *credentials) token(ctx context.Context) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	const early = time.Minute // the longest duration of a request, during which the token must stay valid
	lasts := c.expires.IsZero() || time.Now().Add(early).Before(c.expires)
	if c.last != "" && lasts {
		return c.last, nil
	}
	command := exec.CommandContext(ctx, c.from.Command, c.from.Args...)
	command.Env = append(os.Environ(), `KUBERNETES_EXEC_INFO={"apiVersion":"`+c.from.Version+
		`","kind":"ExecCredential","spec":{"interactive":false}}`)
	for _, variable := range c.from.Env {
		command.Env = append(command.Env, variable.Name+"="+variable.Value)
	}
	var stderr bytes.Buffer
	command.Stderr = &stderr
	command.WaitDelay = time.Second // for a child of it that keeps them open
	text, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("%s, which the kubeconfig names: %w: %s", c.from.Command, err,
			bytes.TrimSpace(stderr.Bytes()))
	}
	var answer struct {
		Status struct {
			Token   string    `json:"token"`
			Expires time.Time `json:"expirationTimestamp"`
		} `json:"status"`
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return "", fmt.Errorf("what %s has printed: %w", c.from.Command, err)
	}
	if answer.Status.Token == "" {
		return "", fmt.Errorf("%s has printed no token: certificates from it are not supported", c.from.Command)
	}
	c.last = answer.Status.Token
	c.expires = answer.Status.Expires
	return c.last, nil
}
