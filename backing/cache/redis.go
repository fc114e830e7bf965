package cache

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// redisCache is a server of Redis.
type redisCache struct {
	client  *redis.Client
	timeout time.Duration
}

// openRedis connects with the first request. Nothing is tried again: the truth is
// elsewhere, and who waits for a cache had better ask there.
func openRedis(u *url.URL, options Options) redisCache {
	logging.Disable() // of the whole library, which says on standard error what it returns, too
	password, _ := u.User.Password()
	return redisCache{redis.NewClient(&redis.Options{
		Addr: u.Host, Username: u.User.Username(), Password: password,
		PoolSize: options.Connections, MaxRetries: -1, DialerRetries: 1, Protocol: 2, DisableIdentity: true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		ContextTimeoutEnabled:    true,
	}), options.Timeout}
}

func (r redisCache) get(ctx context.Context, keys []string) (map[string][]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	answer, err := r.client.MGet(ctx, keys...).Result()
	if err != nil {
		return nil, ofRedis(ctx, err)
	}
	values := make(map[string][]byte, len(keys))
	for n, value := range answer {
		if text, found := value.(string); found {
			values[keys[n]] = []byte(text)
		}
	}
	return values, nil
}

func (r redisCache) set(ctx context.Context, key string, value []byte, seconds int) error {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	return ofRedis(ctx, r.client.Set(ctx, key, value, time.Duration(seconds)*time.Second).Err())
}

func (r redisCache) remove(ctx context.Context, keys []string) error {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	return ofRedis(ctx, r.client.Del(ctx, keys...).Err())
}

func (r redisCache) close() error { return r.client.Close() }

// ofRedis tells what the server refused from a server that is not there, and this
// client's own deadline from the caller's.
func ofRedis(ctx context.Context, err error) error {
	var refused redis.Error
	switch {
	case err == nil || errors.As(err, &refused) || errors.Is(ctx.Err(), context.Canceled):
		return err
	}
	return fmt.Errorf("%w: %v", ErrUnavailable, err)
}
