package engine

import (
	"context"
	"errors"
	"net/http"
	"net/url"
)

// Object is an object of a daemon, or of the swarm that it manages, that carries a label.
type Object struct {
	Kind  string // as Remove takes it
	ID    string // of images and volumes the name
	Name  string // "" of containers and images
	Label string // the value of the label
}

// List returns the containers, networks, images and volumes that carry a label, in the order in which they
// can be removed. It leaves out images without a tag.
func (c *Client) List(ctx context.Context, label string) ([]Object, error) {
	return c.list(ctx, label, "container", "network", "image", "volume")
}

// ListSwarm returns the services, secrets and networks of a swarm that carry a label, in the order in which
// they can be removed.
func (c *Client) ListSwarm(ctx context.Context, label string) ([]Object, error) {
	return c.list(ctx, label, "service", "secret", "network")
}

// Containers returns the containers that carry a label, whether they run or not. label may be NAME=VALUE:
// then they have this value, and their Label is empty.
func (c *Client) Containers(ctx context.Context, label string) ([]Object, error) {
	return c.list(ctx, label, "container")
}

// list returns the objects of these kinds that carry a label. It continues after errors.
func (c *Client) list(ctx context.Context, label string, kinds ...string) (all []Object, err error) {
	for _, kind := range kinds {
		found, failed := c.listKind(ctx, label, kind)
		all = append(all, found...)
		err = errors.Join(err, failed)
	}
	return all, named("list what carries the label", label, err)
}

// listKind returns the objects of one kind that carry a label.
func (c *Client) listKind(ctx context.Context, label, kind string) (all []Object, err error) {
	type object struct {
		ID, Name string
		RepoTags []string
		Labels   map[string]string
		Spec     struct { // of services and secrets: they have name and label in it
			Name   string
			Labels map[string]string
		}
	}
	var listed []object
	query := where(map[string][]string{"label": {label}})
	switch kind {
	case "container", "image":
		query.Set("all", "1")
		err = c.call(ctx, http.MethodGet, "/"+kind+"s/json", query, nil, &listed)
	case "volume":
		var volumes struct{ Volumes []object }
		err = c.call(ctx, http.MethodGet, "/volumes", query, nil, &volumes)
		listed = volumes.Volumes
	default:
		err = c.call(ctx, http.MethodGet, "/"+kind+"s", query, nil, &listed)
	}
	for _, one := range listed {
		o := Object{kind, one.ID, one.Name + one.Spec.Name, one.Labels[label] + one.Spec.Labels[label]}
		switch kind {
		case "volume":
			o.ID = one.Name
		case "image":
			for _, tag := range one.RepoTags {
				o.ID = tag
				all = append(all, o)
			}
			continue
		}
		all = append(all, o)
	}
	return all, err
}

// Remove removes an object of a kind, such as "container", and a container with its processes and anonymous
// volumes. It returns nil if there is none.
func (c *Client) Remove(ctx context.Context, kind, id string) error {
	query := map[string]url.Values{"container": {"force": {"1"}, "v": {"1"}}, "image": {"force": {"1"}}}[kind]
	err := c.call(ctx, http.MethodDelete, "/"+kind+"s/"+id, query, nil, nil)
	if isStatus(err, http.StatusNotFound) {
		return nil
	}
	return named("remove the "+kind, id, err)
}
