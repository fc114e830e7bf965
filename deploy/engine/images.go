package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/cleave-lab/cleave/bounded"
)

// Image is an image of a daemon.
type Image struct {
	ID     string
	Size   int64 // bytes, not compressed
	Config ImageConfig
}

// ImageConfig is the configuration that an image gives to its containers.
type ImageConfig struct {
	ExposedPorts map[string]struct{} // such as 80/tcp
	Healthcheck  *Healthcheck        // nil: it has none
}

// Image returns an image. Its ID is "" if the daemon has none of that name.
func (c *Client) Image(ctx context.Context, name string) (image Image, err error) {
	err = c.call(ctx, http.MethodGet, "/images/"+name+"/json", nil, nil, &image)
	if isStatus(err, http.StatusNotFound) {
		return Image{}, nil
	}
	return image, named("look at the image", name, err)
}

// imagePatience bounds saving or loading an image: some have gigabytes.
const imagePatience = 10 * time.Minute

// Save calls take with the archive of an image, in the format of `docker save`.
func (c *Client) Save(ctx context.Context, name string, take func(context.Context, io.Reader) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, imagePatience, fmt.Errorf("not saved after %v", imagePatience))
	defer cancel()
	answer, err := c.send(ctx, http.MethodGet, "/images/"+name+"/get", nil, nil)
	if err != nil {
		return named("save the image", name, err)
	}
	return errors.Join(take(ctx, answer.Body), answer.Body.Close())
}

// loadImage is the path of the only call whose body is an archive.
const loadImage = "/images/load"

// Load loads an image from an archive in the format of `docker save`, and returns its ID.
func (c *Client) Load(ctx context.Context, archive io.Reader) (id string, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, imagePatience, fmt.Errorf("not loaded after %v", imagePatience))
	defer cancel()
	answer, err := c.send(ctx, http.MethodPost, loadImage, url.Values{"quiet": {"1"}}, archive)
	if err != nil {
		return "", fmt.Errorf("load an image: %w", err)
	}
	name, err := loaded(bounded.New(answer.Body, c.longest))
	if err = errors.Join(err, answer.Body.Close()); err != nil {
		return "", fmt.Errorf("load an image: %w", err)
	}
	image, err := c.Image(ctx, name)
	if err == nil && image.ID == "" {
		err = fmt.Errorf("load an image: %s is gone again", name)
	}
	return image.ID, err
}

// loaded returns the name of the image that the daemon has loaded, from its answer; for an image without a
// name, as one that was saved by its digest, the ID.
func loaded(answer io.Reader) (name string, err error) {
	for decoder := json.NewDecoder(answer); ; {
		var progress struct{ Stream, Error string }
		err := decoder.Decode(&progress)
		switch {
		case errors.Is(err, io.EOF) && name == "":
			return "", errors.New("the daemon does not say what it has loaded")
		case errors.Is(err, io.EOF):
			return name, nil
		case err != nil:
			return "", err
		case progress.Error != "":
			return "", errors.New(progress.Error)
		}
		for _, prefix := range []string{"Loaded image: ", "Loaded image ID: "} {
			if text, found := strings.CutPrefix(strings.TrimSpace(progress.Stream), prefix); found {
				name = text
			}
		}
	}
}
