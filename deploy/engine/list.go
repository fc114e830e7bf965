package engine

import (
	"context"
	"errors"
	"net/http"
)

// Object is an object in Docker that carries a label.
type Object struct {
	Kind  string // container, network, image, volume
	ID    string // for images and volumes the name
	Label string // the value of the label
}

// List returns all objects that carry a label, in the order in which they can be removed. It leaves out
// images without a tag.
func (c *Client) List(ctx context.Context, label string) ([]Object, error) {
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
	var all []Object
	for _, one := range containers {
		all = append(all, Object{"container", one.ID, one.Labels[label]})
	}
	for _, one := range networks {
		all = append(all, Object{"network", one.ID, one.Labels[label]})
	}
	for _, one := range images {
		for _, tag := range one.RepoTags {
			all = append(all, Object{"image", tag, one.Labels[label]})
		}
	}
	for _, one := range volumes.Volumes {
		all = append(all, Object{"volume", one.Name, one.Labels[label]})
	}
	return all, named("list what carries the label", label, err)
}

// RemoveObject removes an object. It returns nil if there is none.
func (c *Client) RemoveObject(ctx context.Context, o Object) error {
	return c.remove(ctx, o.Kind, o.ID, o.ID)
}
