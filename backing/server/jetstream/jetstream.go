// Package jetstream runs a NATS server with JetStream in one of our own programs.
//
// The server listens on loopback or on a network of trials, keeps streams in one
// folder and syncs every write before it confirms it, as the other backing services do.
//
// It is a separate package so that only the program that runs the server links it.
//
// Entry point: Run.
package jetstream

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Config holds the settings of a server. The configuration file has them as JSON.
type Config struct {
	Address  string `json:"address"` // host:port; empty: a free port on loopback
	User     string `json:"user"`    // empty: anybody may connect
	Password string `json:"password"`
	Folder   string `json:"folder"` // of the streams
	// Memory limits the size of streams in memory, in bytes; 0: the server decides.
	Memory int64 `json:"memory_bytes"`
	// Connections is the largest number of connected clients; 0: the server's default.
	Connections int `json:"connections"`
}

const (
	startWithin = 30 * time.Second
	// maxStore limits the size of streams on disk, in bytes.
	maxStore = 16 << 30
)

// private reports whether only this host can reach an address: it is on loopback, or in
// the range of the networks that deployers create (198.18.0.0/15, which RFC 2544 reserves
// for benchmarks). The unspecified address (0.0.0.0) is private if all addresses of the
// host are, as in a container of a cluster.
func private(ip net.IP) bool {
	trialNetworks := net.IPNet{IP: net.IPv4(198, 18, 0, 0), Mask: net.CIDRMask(15, 32)}
	if !ip.IsUnspecified() {
		return ip.IsLoopback() || trialNetworks.Contains(ip)
	}
	all, err := net.InterfaceAddrs()
	isPublic := func(a net.Addr) bool {
		network, ok := a.(*net.IPNet)
		isPrivate := ok && (network.IP.IsLinkLocalUnicast() || private(network.IP))
		return !isPrivate
	}
	return err == nil && !slices.ContainsFunc(all, isPublic)
}

// options converts the configuration for the server library.
func (c Config) options() (*server.Options, error) {
	host, port := "127.0.0.1", server.RANDOM_PORT
	if c.Address != "" {
		name, number, err := net.SplitHostPort(c.Address)
		if err != nil {
			return nil, fmt.Errorf("nats address %q: %w", c.Address, err)
		}
		if host = name; !private(net.ParseIP(host)) {
			return nil, fmt.Errorf("nats address %q is neither on loopback nor on a network of trials", c.Address)
		}
		if port, err = strconv.Atoi(number); err != nil {
			return nil, fmt.Errorf("nats address %q: %w", c.Address, err)
		}
	}
	return &server.Options{
		ServerName: "cleave", Host: host, Port: port, Username: c.User, Password: c.Password,
		MaxConn: c.Connections, NoSigs: true, NoLog: true, NoSystemAccount: true,
		JetStream: true, StoreDir: c.Folder, JetStreamMaxMemory: c.Memory, JetStreamMaxStore: maxStore,
		SyncAlways: true, // a confirmed message is on the disk
	}, nil
}

// start starts a server in this process and returns when clients can connect.
func start(config Config) (*server.Server, error) {
	if config.Folder == "" {
		return nil, errors.New("start nats: Config.Folder is empty: it needs a folder for its streams")
	}
	options, err := config.options()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(config.Folder, 0o700); err != nil {
		return nil, fmt.Errorf("start nats: %w", err)
	}
	s, err := server.NewServer(options)
	if err != nil {
		return nil, fmt.Errorf("start nats: %w", err)
	}
	go s.Start()
	if !s.ReadyForConnections(startWithin) {
		stop(s)
		return nil, fmt.Errorf("start nats at %s: it accepts no connections within %v: is the port free?",
			config.Address, startWithin)
	}
	if !s.JetStreamEnabled() {
		stop(s)
		return nil, fmt.Errorf("start nats: JetStream does not start in %s: may we write there?", config.Folder)
	}
	return s, nil
}

// stop ends the server and returns when its files are closed.
func stop(s *server.Server) {
	s.Shutdown()
	s.WaitForShutdown()
}

// Run is the main function of the server's process: it reads the configuration file,
// serves until SIGTERM or SIGINT and shuts down gracefully.
func Run(configFile string) error {
	text, err := os.ReadFile(configFile)
	if err != nil {
		return fmt.Errorf("run nats: %w", err)
	}
	var config Config
	if err := json.Unmarshal(text, &config); err != nil {
		return fmt.Errorf("run nats: read %s: %w", configFile, err)
	}
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM, syscall.SIGINT)
	running, err := start(config)
	if err != nil {
		return err
	}
	<-end
	stop(running)
	return nil
}
