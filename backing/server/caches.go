package server

import (
	"context"
	"fmt"

	"github.com/cleave-lab/cleave/backing/cache"
	"github.com/cleave-lab/cleave/lab"
)

// cacheConnections is the factor by which a cache accepts more connections than Settings.Connections: a
// connection costs it little.
const cacheConnections = 5

func installedRedis() (Installed, error) { return installed(Redis, "redis-server", "--version") }

// describeRedis configures Redis without persistence, and with eviction of the least
// recently used values.
func describeRedis(s *Server, unit *lab.UnitSpec) {
	unit.Files["redis.conf"] = lines(
		"bind {host}",
		"port {port}",
		"dir {dir}",
		"user default off",
		"user "+s.user+" on >"+s.password+" ~* &* +@all",
		fmt.Sprintf("maxclients %d", cacheConnections*s.settings.Connections),
		"save \"\"",
		"appendonly no",
		fmt.Sprintf("maxmemory %d", s.settings.Memory),
		"maxmemory-policy allkeys-lru",
		"loglevel warning",
	)
	unit.Args = []string{"{dir}/redis.conf"}
}

func installedMemcached() (Installed, error) {
	return installed(Memcached, "memcached", "--version")
}

// describeMemcached configures memcached for the largest values of the client. The limit of an item (-I)
// includes its key and overhead, so it is twice the largest value; memcached refuses a limit above half of
// its memory. It runs with half of the default threads, because hosts are small here.
func describeMemcached(s *Server, unit *lab.UnitSpec) {
	unit.Files["users"] = lines(s.user + ":" + s.password)
	unit.Args = []string{
		// -u: root must name the user to run as
		"-l", "{host}", "-p", "{port}", "-U", "0", "-Y", "{dir}/users", "-u", "root",
		"-m", fmt.Sprint(max(s.settings.Memory>>20, 8)), "-I", fmt.Sprint(2 * cache.MaxValue),
		"-c", fmt.Sprint(cacheConnections * s.settings.Connections), "-t", "2",
	}
}

// cacheReady returns nil if a client can log in and read.
func cacheReady(ctx context.Context, s *Server, address string) error {
	client, err := cache.Open(ctx, s.URL(address), cache.Options{Connections: 1})
	if err != nil {
		return err
	}
	return client.Close()
}
