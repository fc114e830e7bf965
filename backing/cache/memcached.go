package cache

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
)

// memcachedCache is the client of a memcached server. Its library has no contexts: a request
// that gets no answer ends only with the client's timeout.
type memcachedCache struct{ client *memcache.Client }

func openMemcached(u *url.URL, options Options) memcachedCache {
	// The address is resolved for every connection: a server may have another one after a restart.
	client := memcache.NewFromSelector(oneServer(u.Host))
	client.Timeout = options.Timeout
	client.MaxIdleConns = options.Connections
	client.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		connection, err := (&net.Dialer{}).DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		if err := logIn(connection, u.User, options.Timeout); err != nil {
			_ = connection.Close() // the error of logIn is reported
			return nil, err
		}
		return connection, nil
	}
	return memcachedCache{client}
}

// logIn authenticates a connection: in memcached's text protocol the first command must set any
// key to the name and the password.
func logIn(connection net.Conn, user *url.Userinfo, within time.Duration) error {
	if err := connection.SetDeadline(time.Now().Add(within)); err != nil {
		return err
	}
	password, _ := user.Password()
	login := user.Username() + " " + password
	if _, err := fmt.Fprintf(connection, "set login 0 0 %d\r\n%s\r\n", len(login), login); err != nil {
		return err
	}
	// The server sends only one line, so the buffered reader reads nothing else. A line longer than the buffer
	// is an error.
	line, err := bufio.NewReader(connection).ReadSlice('\n')
	if err != nil {
		return err
	}
	if answer := strings.TrimSpace(string(line)); answer != "STORED" {
		return fmt.Errorf("memcached refuses the login of %s: %s", user.Username(), answer)
	}
	return connection.SetDeadline(time.Time{})
}

// oneServer is the address of the server that has all keys.
type oneServer string

// Network implements net.Addr.
func (s oneServer) Network() string { return "tcp" }

// String implements net.Addr.
func (s oneServer) String() string { return string(s) }

// PickServer implements memcache.ServerSelector.
func (s oneServer) PickServer(string) (net.Addr, error) { return s, nil }

// Each implements memcache.ServerSelector.
func (s oneServer) Each(work func(net.Addr) error) error { return work(s) }

func (m memcachedCache) get(_ context.Context, keys []string) (map[string][]byte, error) {
	items, err := m.client.GetMulti(keys)
	if err != nil {
		return nil, m.unavailable(err)
	}
	values := make(map[string][]byte, len(items))
	for key, item := range items {
		values[key] = item.Value
	}
	return values, nil
}

func (m memcachedCache) set(_ context.Context, key string, value []byte, seconds int) error {
	return m.unavailable(m.client.Set(&memcache.Item{Key: key, Value: value, Expiration: int32(seconds)}))
}

func (m memcachedCache) remove(_ context.Context, keys []string) error {
	for _, key := range keys {
		if err := m.client.Delete(key); err != nil && !errors.Is(err, memcache.ErrCacheMiss) {
			return m.unavailable(err)
		}
	}
	return nil
}

func (m memcachedCache) close() error { return m.client.Close() }

// unavailable wraps an error in ErrUnavailable; nil stays nil. After an error it closes all idle
// connections: they lead to the same server, and if that was restarted, none of them works.
func (m memcachedCache) unavailable(err error) error {
	if err == nil {
		return nil
	}
	_ = m.client.Close() // errors do not matter: the connections are useless
	return fmt.Errorf("%w: %v", ErrUnavailable, err)
}
