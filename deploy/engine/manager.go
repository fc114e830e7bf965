package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// Member is what a daemon says of its place in a swarm.
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

// Version returns the version of the API, such as "1.41", after the first answer.
func (c *Client) Version() string {
	if c.version == "" {
		return ""
	}
	return c.version[len("/v"):]
}

// Overlay is a network of all nodes of a swarm.
type Overlay struct {
	Name, Subnet string
	Labels       map[string]string
}

// MakeAttachable makes an overlay network in which containers can be, too, that are no tasks.
func (c *Client) MakeAttachable(ctx context.Context, o Overlay) (id string, err error) {
	body := map[string]any{
		"Name": o.Name, "Driver": "overlay", "Attachable": true, "CheckDuplicate": true, "Labels": o.Labels,
		"IPAM": map[string]any{"Config": []map[string]string{{"Subnet": o.Subnet}}},
	}
	var made struct{ ID string }
	err = c.call(ctx, http.MethodPost, "/networks/create", nil, body, &made)
	return made.ID, named("make the network", o.Name, err)
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

// PublishedPorts returns the published ports that services of the swarm have on nodes.
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

// MakeSecret has the swarm keep something that only tasks get which name it.
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

// Kept is something that a swarm keeps: a service, a network of all nodes, or a secret.
type Kept struct {
	Kind  string
	ID    string
	Name  string
	Label string // the value of the label
}

// Kept lists what carries a label, in the order in which it can be removed.
func (c *Client) Kept(ctx context.Context, label string) ([]Kept, error) {
	filters, err := json.Marshal(map[string][]string{"label": {label}})
	if err != nil {
		return nil, err
	}
	var all []Kept
	for _, kind := range []string{"service", "secret", "network"} {
		var listed []struct {
			ID, Name string
			Labels   map[string]string
			Spec     struct {
				Name   string
				Labels map[string]string
			}
		}
		if err := c.call(ctx, http.MethodGet, "/"+kind+"s", url.Values{"filters": {string(filters)}}, nil,
			&listed); err != nil {
			return nil, named("list what carries the label", label, err)
		}
		for _, one := range listed {
			all = append(all, Kept{kind, one.ID, one.Name + one.Spec.Name, one.Labels[label] + one.Spec.Labels[label]})
		}
	}
	return all, nil
}

// RemoveKept removes it. What is not there is removed.
func (c *Client) RemoveKept(ctx context.Context, k Kept) error {
	err := c.call(ctx, http.MethodDelete, "/"+k.Kind+"s/"+k.ID, nil, nil, nil)
	if isStatus(err, http.StatusNotFound) {
		return nil
	}
	return named("remove the "+k.Kind, k.Name, err)
}

// LabelledTasks lists the tasks of services with a label of a value, also those that have
// ended.
func (c *Client) LabelledTasks(ctx context.Context, label, value string) ([]Task, error) {
	filters, err := json.Marshal(map[string][]string{"label": {label + "=" + value}})
	if err != nil {
		return nil, err
	}
	var tasks []Task
	err = c.call(ctx, http.MethodGet, "/tasks", url.Values{"filters": {string(filters)}}, nil, &tasks)
	return tasks, named("list the tasks with the label", label+"="+value, err)
}

// logPatience is how long a swarm may take to bring what a task has written.
const logPatience = 5 * time.Second

// TaskLog returns what a task has written until now to both of its outputs, up to a limit.
func (c *Client) TaskLog(ctx context.Context, task string, limit int64) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, logPatience, fmt.Errorf("no answer for %v", logPatience))
	defer cancel()
	query := url.Values{"stdout": {"1"}, "stderr": {"1"}}
	answer, err := c.send(ctx, http.MethodGet, "/tasks/"+task+"/logs", query, nil)
	if err != nil {
		return nil, named("read the log of the task", task, err)
	}
	text, err := io.ReadAll(io.LimitReader(&output{from: answer.Body, cancel: func(error) {}}, limit))
	return text, named("read the log of the task", task, errors.Join(err, answer.Body.Close()))
}
