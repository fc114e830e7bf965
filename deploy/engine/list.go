package engine

import (
	"context"
	"errors"
	"net/http"
)

// Thing is an object in Docker that carries a label.
type Thing struct {
	Kind  string // container, network, image, volume
	ID    string // for images and volumes the name
	Label string // the value of the label
}

// List returns all objects that carry a label, in the order in which they can be removed.
func (c *Client) List(ctx context.Context, label string) ([]Thing, error) {
	type listed struct {
		ID, Name string
		RepoTags []string
		Labels   map[string]string
	}
	var containers, networks, images []listed
	var volumes struct{ Volumes []listed }
	query := where(map[string][]string{"label": {label}})
	query.Set("all", "1")
	err := errors.Join(
		c.call(ctx, http.MethodGet, "/containers/json", query, nil, &containers),
		c.call(ctx, http.MethodGet, "/networks", query, nil, &networks),
		c.call(ctx, http.MethodGet, "/images/json", query, nil, &images),
		c.call(ctx, http.MethodGet, "/volumes", query, nil, &volumes),
	)
	var all []Thing
	for _, one := range containers {
		all = append(all, Thing{"container", one.ID, one.Labels[label]})
	}
	for _, one := range networks {
		all = append(all, Thing{"network", one.ID, one.Labels[label]})
	}
	for _, one := range images {
		for _, tag := range one.RepoTags {
			all = append(all, Thing{"image", tag, one.Labels[label]})
		}
	}
	for _, one := range volumes.Volumes {
		all = append(all, Thing{"volume", one.Name, one.Labels[label]})
	}
	return all, named("list what carries the label", label, err)
}

// RemoveThing removes an object. It returns nil if there is none.
func (c *Client) RemoveThing(ctx context.Context, thing Thing) error {
	return c.remove(ctx, thing.Kind, thing.ID, thing.ID)
}
