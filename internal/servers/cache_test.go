package servers

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/cleave-lab/cleave/backing/cache"
)

// cacheClient is the wordClient of caches. It reads only the words a and b, which the tests write, because
// caches cannot list their keys.
type cacheClient struct{}

func (cacheClient) write(ctx context.Context, at target, word string) error {
	client, err := cache.Open(ctx, at.URL(), cache.Options{})
	if err != nil {
		return err
	}
	return errors.Join(client.Set(ctx, word, nil, 0), client.Close())
}

func (cacheClient) read(ctx context.Context, at target) ([]string, error) {
	client, err := cache.Open(ctx, at.URL(), cache.Options{})
	if err != nil {
		return nil, err
	}
	words, err := client.GetMany(ctx, "a", "b")
	return slices.Collect(maps.Keys(words)), errors.Join(err, client.Close())
}
