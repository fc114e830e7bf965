package engine

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/cleave-lab/cleave/inputfile"
)

// maxFile bounds each file of the docker program's settings, in bytes.
const maxFile = 16 << 20

// OpenNamed returns a client of a daemon that the user names, by an address or a context of the
// docker program, if it answers. It uses TLS as that program does: a context may hold keys, and
// for addresses DOCKER_TLS_VERIFY and DOCKER_CERT_PATH name their folder.
func OpenNamed(ctx context.Context, name string) (*Client, error) {
	address := name
	keys := ""
	unverified := false
	var err error
	if !strings.Contains(name, "://") {
		address, keys, unverified, err = contextOf(name)
	} else if os.Getenv("DOCKER_TLS_VERIFY") != "" {
		if keys = os.Getenv("DOCKER_CERT_PATH"); keys == "" {
			keys, err = Settings()
		}
	}
	if err != nil {
		return nil, err
	}
	if keys == "" || !strings.HasPrefix(address, "tcp://") {
		return open(ctx, address, nil)
	}
	secured, err := securedBy(keys)
	if err != nil {
		return nil, fmt.Errorf("the keys for the Docker daemon at %s: %w", address, err)
	}
	host, _, err := net.SplitHostPort(strings.TrimPrefix(address, "tcp://"))
	if err != nil {
		return nil, fmt.Errorf("the Docker daemon at %s: %w", address, err)
	}
	secured.ServerName = host
	secured.InsecureSkipVerify = unverified
	return open(ctx, address, secured)
}

// socket is the default address of the daemon of this host.
const socket = "unix:///var/run/docker.sock"

// defaultDaemon returns the daemon that the docker program would ask, as an address or a context: that of the
// environment, or else the context in the program's settings.
func defaultDaemon() (string, error) {
	for _, variable := range []string{"DOCKER_HOST", "DOCKER_CONTEXT"} {
		if name := os.Getenv(variable); name != "" {
			return name, nil
		}
	}
	folder, err := Settings()
	if err != nil {
		return socket, nil // without a home there are no settings
	}
	path := filepath.Join(folder, "config.json")
	text, err := inputfile.Read(path, maxFile)
	if err != nil {
		return socket, nil // there are no settings
	}
	var config struct{ CurrentContext string }
	if err := json.Unmarshal(text, &config); err != nil {
		return "", fmt.Errorf("read the settings of docker in %s: %w", path, err)
	}
	return cmp.Or(config.CurrentContext, socket), nil
}

// Settings returns the folder of the docker program's settings.
func Settings() (string, error) {
	if folder := os.Getenv("DOCKER_CONFIG"); folder != "" {
		return folder, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("find the settings of docker: %w", err)
	}
	return filepath.Join(home, ".docker"), nil
}

// contextOf reads a context of the docker program. It returns the address of its daemon, the folder
// of its keys (empty: none), and whether the daemon's certificate is not verified.
func contextOf(name string) (address, keys string, unverified bool, err error) {
	if name == "default" { // the program always has it, without a file
		return socket, "", false, nil
	}
	folder, err := Settings()
	if err != nil {
		return "", "", false, err
	}
	contexts := filepath.Join(folder, "contexts")
	id := fmt.Sprintf("%x", sha256.Sum256([]byte(name)))
	text, err := inputfile.Read(filepath.Join(contexts, "meta", id, "meta.json"), maxFile)
	if errors.Is(err, os.ErrNotExist) {
		return "", "", false, fmt.Errorf("there is no context %q of docker in %s, and it is no address such as "+
			"unix:///var/run/docker.sock: see docker context ls", name, folder)
	}
	var described struct {
		Endpoints map[string]struct {
			Host          string
			SkipTLSVerify bool
		}
	}
	if err == nil {
		err = json.Unmarshal(text, &described)
	}
	if err != nil {
		return "", "", false, fmt.Errorf("read the context %q of docker: %w", name, err)
	}
	daemon := described.Endpoints["docker"]
	keys = filepath.Join(contexts, "tls", id, "docker")
	if _, err := os.Stat(keys); err != nil {
		keys = ""
	}
	return daemon.Host, keys, daemon.SkipTLSVerify, nil
}

// securedBy returns the configuration of TLS with the files in a folder: the authority that signs
// the daemon's certificate, and our own certificate and key.
func securedBy(folder string) (*tls.Config, error) {
	read := map[string][]byte{}
	for _, name := range []string{"cert.pem", "key.pem", "ca.pem"} {
		text, err := inputfile.Read(filepath.Join(folder, name), maxFile)
		if err != nil {
			return nil, err
		}
		read[name] = text
	}
	own, err := tls.X509KeyPair(read["cert.pem"], read["key.pem"])
	if err != nil {
		return nil, err
	}
	trusted := x509.NewCertPool()
	if !trusted.AppendCertsFromPEM(read["ca.pem"]) {
		return nil, fmt.Errorf("there is no certificate in %s", filepath.Join(folder, "ca.pem"))
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{own}, RootCAs: trusted}, nil
}
