package server

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"net"
	"os"
	"strconv"
	"strings"
)

// Ports are below the range from which Linux takes the ports of outgoing
// connections, or a peer's connection could sit on a server's port.
const lowestPort, highestPort = 10000, 32767

// takePorts finds n different free loopback ports for the instance. It holds their
// UDP sockets, which none of the servers uses, until its end: whoever looks for a
// port, here or in a deployer, leaves them alone, also while the server is down.
func (i *Instance) takePorts(n int) error {
	port := lowestPort + mathrand.IntN(highestPort-lowestPort)
	for tried := 0; len(i.ports) < n; tried++ {
		if tried > highestPort-lowestPort {
			return fmt.Errorf("found %d free ports between %d and %d, %d are needed: end other programs that listen there",
				len(i.ports), lowestPort, highestPort, n)
		}
		if port++; port > highestPort {
			port = lowestPort
		}
		hold, err := net.ListenPacket("udp4", loopback(port))
		if err != nil {
			continue
		}
		if !nobodyListens(port) {
			_ = hold.Close() // it held nothing
			continue
		}
		i.ports, i.held = append(i.ports, port), append(i.held, hold)
	}
	return nil
}

// givePorts lets others have the ports.
func (i *Instance) givePorts() {
	for _, hold := range i.held {
		_ = hold.Close() // nothing was sent
	}
	i.held = nil
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

func nobodyListens(port int) bool {
	listener, err := net.Listen("tcp4", loopback(port))
	return err == nil && listener.Close() == nil
}

// credentials are what clients log in with.
type credentials struct {
	User     string `json:"user"`
	Password string `json:"password"`
}

// loadCredentials reads the credentials of the folder or makes random ones.
func (i *Instance) loadCredentials() error {
	var c credentials
	text, err := os.ReadFile(i.file("credentials.json"))
	switch {
	case err == nil:
		if err := json.Unmarshal(text, &c); err != nil {
			return fmt.Errorf("read %s: %w", i.file("credentials.json"), err)
		}
	case errors.Is(err, os.ErrNotExist):
		c = credentials{User: "cleave", Password: secret()}
		if err := i.writeJSON("credentials.json", c); err != nil {
			return err
		}
	default:
		return err
	}
	i.user, i.password = c.User, c.Password
	return nil
}

// secret returns 128 random bits in hexadecimal.
func secret() string {
	bits := make([]byte, 16)
	_, _ = rand.Read(bits) // never fails: crypto/rand
	return hex.EncodeToString(bits)
}

// write makes a file that only its owner can read.
func (i *Instance) write(name string, lines ...string) error {
	path := i.file(name)
	_ = os.Remove(path) // the mode counts for new files only
	return os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600)
}

func (i *Instance) writeJSON(name string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return i.write(name, string(text))
}

// exists reports whether the instance's folder has a file.
func (i *Instance) exists(name string) bool {
	_, err := os.Lstat(i.file(name))
	return err == nil
}

// firstData has fill make a new data folder under another name and gives it its
// own when that succeeded: a folder called data is always whole.
func (i *Instance) firstData(fill func(folder string) error) error {
	half := i.file(dataFolder) + ".half"
	if err := os.RemoveAll(half); err != nil {
		return err
	}
	if err := fill(half); err != nil {
		return err
	}
	return os.Rename(half, i.file(dataFolder))
}

// lastLines returns the end of a log on one line, for messages.
func lastLines(path string, n int) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], " | ")
}
