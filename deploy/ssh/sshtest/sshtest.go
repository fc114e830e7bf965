// Package sshtest makes simulated hosts (package hosts) with an sshd on each, and a client configuration that
// knows them. It is for tests only.
//
// Entry points: New; Hosts.Use for the client.
package sshtest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/deploy/deploytest"
	"github.com/cleave-lab/cleave/deploy/hosts"
	"github.com/cleave-lab/cleave/internal/testset"
)

// sshd is called by its path: it starts itself again for every login.
const sshd = "/usr/sbin/sshd"

// Hosts are hosts with an sshd on port 22.
type Hosts struct {
	*hosts.Set
	// Names are the names of the hosts for ssh.
	Names []string
	// Config is the file of the client's configuration, which can be changed.
	Config string
	dir    string
}

// New makes hosts with these names, which end with the test. It skips the test if this host cannot make them.
func New(t *testing.T, label string, names ...string) *Hosts {
	t.Helper()
	if err := hosts.Missing(); err != nil {
		t.Skip(err)
	}
	testset.Need(t, "it starts an sshd")
	if _, err := os.Stat(sshd); err != nil {
		t.Skip("there is no sshd here: type: apt-get install openssh-server")
	}
	set, err := hosts.Make(t.Context(), label, names...)
	testset.Must(t, err)
	t.Cleanup(func() { deploytest.NoError(t, set.Close()) })
	h := &Hosts{Set: set, Names: names, dir: t.TempDir()}
	h.Config = filepath.Join(h.dir, "config")
	var known, config strings.Builder
	keygen(t, h.path("user"))
	fmt.Fprintf(&config, "UserKnownHostsFile %s\nIdentityFile %s\nIdentitiesOnly yes\nUser root\n",
		h.path("known_hosts"), h.path("user"))
	for i, host := range set.Hosts() {
		keygen(t, h.path(host.Name))
		public, err := os.ReadFile(h.path(host.Name) + ".pub")
		testset.Must(t, err)
		fmt.Fprintf(&known, "%s %s", host.Address, public)
		fmt.Fprintf(&config, "Host %s\n  HostName %s\n", names[i], host.Address)
		h.start(t, host)
	}
	h.write(t, h.path("known_hosts"), known.String())
	h.write(t, h.Config, config.String())
	return h
}

func (h *Hosts) path(name string) string { return filepath.Join(h.dir, name) }

func (h *Hosts) write(t *testing.T, path, text string) {
	t.Helper()
	testset.Must(t, os.WriteFile(path, []byte(text), 0o600))
}

func keygen(t *testing.T, path string) {
	t.Helper()
	if text, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f",
		path).CombinedOutput(); err != nil {
		t.Fatalf("make a key: %v: %s", err, text)
	}
}

// start starts the sshd of a host and waits until it listens.
func (h *Hosts) start(t *testing.T, host *hosts.Host) {
	t.Helper()
	config := h.path(host.Name + ".sshd")
	h.write(t, config,
		fmt.Sprintf("ListenAddress %s\nPort 22\nHostKey %s\nAuthorizedKeysFile %s\nPidFile none\nUsePAM no\n"+
			"AcceptEnv TMPDIR\nPasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin "+
			"prohibit-password\nStrictModes no\n",
			host.Address, h.path(host.Name), h.path("user.pub")))
	// sshd needs the folder /run/sshd; only this host sees it.
	testset.Must(t, host.Run(t.Context(), "sh", "-c",
		"mount -t tmpfs tmpfs /run && mkdir -m 755 /run/sshd"))
	server := host.Command(context.WithoutCancel(t.Context()), sshd, "-D", "-e", "-f", config)
	log, err := os.Create(h.path(host.Name + ".log"))
	if err == nil {
		server.Stderr = log // a file and no pipe: sshd runs for a moment longer than nsenter
		err = errors.Join(host.Start(server), log.Close())
	}
	testset.Must(t, err)
	t.Cleanup(func() {
		_ = server.Process.Kill() // it may have ended with its host
		_ = server.Wait()         // it was killed
	})
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		connection, err := net.Dial("tcp", net.JoinHostPort(host.Address, "22"))
		if err == nil {
			_ = connection.Close() // it listens
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("sshd does not listen: %v: its log is %s", err, log.Name())
		}
	}
}

// Use makes ssh read the configuration, in this process and its children, as if it were the user's.
func (h *Hosts) Use(t *testing.T) {
	t.Helper()
	ssh, err := exec.LookPath("ssh")
	testset.Must(t, err)
	folder := h.path("bin")
	testset.Must(t, os.MkdirAll(folder, 0o700))
	testset.Must(t, os.WriteFile(filepath.Join(folder, "ssh"),
		[]byte(fmt.Sprintf("#!/bin/sh\nexec %s -F %s \"$@\"\n", ssh, h.Config)), 0o700))
	t.Setenv("PATH", folder+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// Commands returns the command lines of the running processes on the hosts that were started through sshd.
func (h *Hosts) Commands() []string {
	var networks []string
	for _, host := range h.Hosts() {
		network, _ := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", host.First())) // it runs until the end of the test
		networks = append(networks, network)
	}
	var found []string
	all, _ := filepath.Glob("/proc/[0-9]*") // the pattern is right
	for _, process := range all {
		network, err := os.Readlink(process + "/ns/net")
		if err != nil || !slices.Contains(networks, network) {
			continue
		}
		text, _ := os.ReadFile(process + "/cmdline") // it may have ended
		command := strings.TrimSpace(strings.ReplaceAll(string(text), "\x00", " "))
		// These belong to the simulated host itself.
		own := strings.HasPrefix(command, "sh -c mount") || strings.HasPrefix(command, "sleep infinity") ||
			strings.HasPrefix(command, "sshd:") || strings.Contains(command, sshd+" ")
		if command != "" && !own {
			found = append(found, command)
		}
	}
	return found
}

// AddHost adds a host, with its settings as in ssh_config, to the client's configuration.
func (h *Hosts) AddHost(t *testing.T, name string, settings ...string) {
	t.Helper()
	text, err := os.ReadFile(h.Config)
	testset.Must(t, err)
	// ssh takes the first value of a setting, so the new host comes first.
	h.write(t, h.Config, "Host "+name+"\n  "+strings.Join(settings, "\n  ")+"\nHost *\n"+string(text))
}

// AwaitNothing waits until no process that was started through sshd runs on the hosts.
func (h *Hosts) AwaitNothing(t *testing.T, patience time.Duration) {
	t.Helper()
	for deadline := time.Now().Add(patience); len(h.Commands()) > 0; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("after %v there runs %q", patience, h.Commands())
		}
	}
}
