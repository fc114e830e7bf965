package engine

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Member is a daemon's report of its place in a swarm.
type Member struct {
	NodeID           string
	LocalNodeState   string // inactive, active ...
	ControlAvailable bool   // it is a manager
}

// Member asks the daemon for its place in a swarm.
func (c *Client) Member(ctx context.Context) (Member, error) {
	var info struct{ Swarm Member }
	err := c.call(ctx, http.MethodGet, "/info", nil, nil, &info)
	return info.Swarm, named("ask for its swarm", c.address, err)
}

// Version returns the version of the API, such as "1.41"; "" before the first answer.
func (c *Client) Version() string {
	if c.version == "" {
		return ""
	}
	return c.version[len("/v"):]
}

// Subnets returns the subnets of all networks that the daemon knows.
func (c *Client) Subnets(ctx context.Context) ([]string, error) {
	var all []struct {
		IPAM struct{ Config []struct{ Subnet string } }
	}
	err := c.call(ctx, http.MethodGet, "/networks", nil, nil, &all)
	var subnets []string
	for _, network := range all {
		for _, pool := range network.IPAM.Config {
			subnets = append(subnets, pool.Subnet)
		}
	}
	return subnets, named("list the networks of", c.address, err)
}

// PublishedPorts returns the ports that services of the swarm publish on nodes.
func (c *Client) PublishedPorts(ctx context.Context) (map[int]bool, error) {
	var all []struct {
		Endpoint struct{ Ports []PublishedPort }
		Spec     struct{ EndpointSpec EndpointSpec }
	}
	err := c.call(ctx, http.MethodGet, "/services", nil, nil, &all)
	taken := map[int]bool{}
	for _, service := range all {
		for _, port := range append(service.Endpoint.Ports, service.Spec.EndpointSpec.Ports...) {
			taken[port.PublishedPort] = true
		}
	}
	return taken, named("list the services of", c.address, err)
}

// MakeSecret makes a secret of the swarm, which only tasks that name it get, and returns its ID.
func (c *Client) MakeSecret(
	ctx context.Context, name string, labels map[string]string, data []byte,
) (id string, err error) {
	var made struct{ ID string }
	body := map[string]any{"Name": name, "Labels": labels, "Data": data}
	err = c.call(ctx, http.MethodPost, "/secrets/create", nil, body, &made)
	return made.ID, named("make the secret", name, err)
}

// Config returns the content of a configuration that the swarm keeps.
func (c *Client) Config(ctx context.Context, name string) ([]byte, error) {
	var found struct{ Spec struct{ Data []byte } }
	err := c.call(ctx, http.MethodGet, "/configs/"+name, nil, nil, &found)
	return found.Spec.Data, named("read the config", name, err)
}

// SwarmObject is an object that the managers of a swarm keep.
type SwarmObject struct {
	Kind  string // service, secret, or network (of all nodes)
	ID    string
	Name  string
	Label string // the value of the label
}

// SwarmObjects lists the objects of the swarm that carry a label, in the order in which they can be removed.
func (c *Client) SwarmObjects(ctx context.Context, label string) ([]SwarmObject, error) {
	var all []SwarmObject
	for _, kind := range []string{"service", "secret", "network"} {
		var listed []struct {
			ID, Name string
			Labels   map[string]string
			Spec     struct {
				Name   string
				Labels map[string]string
			}
		}
		query := where(map[string][]string{"label": {label}})
		if err := c.call(ctx, http.MethodGet, "/"+kind+"s", query, nil, &listed); err != nil {
			return nil, named("list what carries the label", label, err)
		}
		for _, one := range listed {
			// A network has its name and labels itself, the others have them in their spec.
			all = append(all, SwarmObject{kind, one.ID, one.Name + one.Spec.Name,
				one.Labels[label] + one.Spec.Labels[label]})
		}
	}
	return all, nil
}

// RemoveSwarmObject removes an object of a swarm. It returns nil if there is none.
func (c *Client) RemoveSwarmObject(ctx context.Context, o SwarmObject) error {
	return c.remove(ctx, o.Kind, o.ID, o.Name)
}

// logPatience bounds how long a swarm may take to send the log of a task.
const logPatience = 5 * time.Second

const (
	// maxPiece is the longest piece of a log, in bytes: drivers cut lines at 16 KiB.
	maxPiece = 1 << 20
	// logOverlap is the length of the end of the log, before the mark, that is read again: the pieces of two
	// outputs may be in the log in another order than that of their timestamps.
	logOverlap = time.Second
	// failureOutput is the number of the output with the daemon's error.
	failureOutput = 3
)

// LogMark marks the position up to which the log of a task was read, for each output. The zero value is the
// beginning.
type LogMark [failureOutput]struct {
	at     string // timestamp of the last piece, as the daemon writes it
	pieces int    // number of pieces with that timestamp that were read
}

// TaskLog copies what a task has written to both of its outputs since a mark, and moves the mark, also if it
// fails in between.
func (c *Client) TaskLog(ctx context.Context, task string, mark *LogMark, into io.Writer) error {
	ctx, cancel := context.WithTimeoutCause(ctx, logPatience, fmt.Errorf("no answer for %v", logPatience))
	defer cancel()
	query := url.Values{"stdout": {"1"}, "stderr": {"1"}, "timestamps": {"1"}}
	if since := mark.since(); since != "" {
		query.Set("since", since)
	}
	answer, err := c.send(ctx, http.MethodGet, "/tasks/"+task+"/logs", query, nil)
	if err != nil {
		return named("read the log of the task", task, err)
	}
	err = mark.copy(into, answer.Body)
	return named("read the log of the task", task, errors.Join(err, answer.Body.Close()))
}

// since returns the time from which on the log is read, in the form of the API; "" for the beginning.
func (m *LogMark) since() string {
	newest := ""
	for _, output := range m {
		newest = max(newest, output.at)
	}
	at, err := time.Parse(time.RFC3339Nano, newest)
	if err != nil {
		return ""
	}
	at = at.Add(-logOverlap)
	return fmt.Sprintf("%d.%09d", at.Unix(), at.Nanosecond())
}

// copy copies the new pieces without their timestamps. It skips pieces that were read before: within an
// output, timestamps never decrease.
func (m *LogMark) copy(into io.Writer, from io.Reader) error {
	var again [failureOutput]int // pieces with the mark's timestamp, by output
	for {
		var head [8]byte
		if _, err := io.ReadFull(from, head[:]); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		length := binary.BigEndian.Uint32(head[4:])
		if length > maxPiece {
			return fmt.Errorf("a piece of it has %d bytes, and at most %d are read", length, maxPiece)
		}
		piece := make([]byte, length)
		if _, err := io.ReadFull(from, piece); err != nil {
			return err
		}
		if head[0] >= failureOutput {
			return errors.New(strings.TrimSpace(string(piece)))
		}
		at, text, _ := strings.Cut(string(piece), " ")
		read, seen := &m[head[0]], &again[head[0]]
		switch {
		case at < read.at:
			continue
		case at > read.at:
			read.at, read.pieces, *seen = at, 0, 0
		}
		if *seen++; *seen <= read.pieces {
			continue
		}
		read.pieces = *seen
		if _, err := io.WriteString(into, text); err != nil {
			return err
		}
	}
}
