package cache

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/gomodule/redigo/redis"
)

// redisCache is the client of a Redis server.
type redisCache struct {
	pool    *redis.Pool
	timeout time.Duration
	lost    *atomic.Int64 // time of the last request without an answer, in Unix nanoseconds
}

// openRedis returns a client that connects with the first request. It does not retry
// requests: callers can get the data elsewhere, which is better than waiting for a cache.
// A request without an answer may mean that the server has ended. So the pool does not reuse
// connections whose last use was before that request failed.
func openRedis(u *url.URL, options Options) redisCache {
	password, _ := u.User.Password()
	lost := &atomic.Int64{}
	return redisCache{&redis.Pool{
		MaxIdle: options.Connections,
		DialContext: func(ctx context.Context) (redis.Conn, error) {
			return redis.DialContext(ctx, "tcp", u.Host, redis.DialUsername(u.User.Username()),
				redis.DialPassword(password), redis.DialReadTimeout(options.Timeout),
				redis.DialWriteTimeout(options.Timeout))
		},
		TestOnBorrow: func(_ redis.Conn, used time.Time) error {
			if used.UnixNano() <= lost.Load() {
				return errors.New("it was last used before another connection was lost")
			}
			return nil
		},
	}, options.Timeout, lost}
}

func (r redisCache) get(ctx context.Context, keys []string) (map[string][]byte, error) {
	answer, err := redis.ByteSlices(r.do(ctx, "MGET", redis.Args{}.AddFlat(keys)...))
	if err != nil {
		return nil, err
	}
	values := make(map[string][]byte, len(keys))
	for n, value := range answer {
		if value != nil {
			values[keys[n]] = value
		}
	}
	return values, nil
}

func (r redisCache) set(ctx context.Context, key string, value []byte, seconds int) error {
	arguments := []any{key, value}
	if seconds > 0 {
		arguments = append(arguments, "EX", seconds)
	}
	_, err := r.do(ctx, "SET", arguments...)
	return err
}

func (r redisCache) remove(ctx context.Context, keys []string) error {
	_, err := r.do(ctx, "DEL", redis.Args{}.AddFlat(keys)...)
	return err
}

func (r redisCache) close() error { return r.pool.Close() }

// do sends a command and returns the answer. If the server refuses the command, do returns the server's
// error; if the caller's context has ended, the error of the context; otherwise ErrUnavailable.
func (r redisCache) do(ctx context.Context, command string, arguments ...any) (any, error) {
	bounded, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	connection, err := r.pool.GetContext(bounded)
	if err == nil {
		deadline, _ := bounded.Deadline()
		var answer any
		answer, err = redis.DoWithTimeout(connection, time.Until(deadline), command, arguments...)
		_ = connection.Close() // returns the connection to the pool; if it is broken, err says why
		if err == nil {
			return answer, nil
		}
	}
	var refused redis.Error
	limit, limited := ctx.Deadline()
	switch {
	case errors.As(err, &refused):
		return nil, err
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case limited && !time.Now().Before(limit): // the connection may time out before ctx does
		return nil, context.DeadlineExceeded
	}
	r.lost.Store(time.Now().UnixNano())
	return nil, fmt.Errorf("%w: %v", ErrUnavailable, err)
}
