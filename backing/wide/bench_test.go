package wide

import (
	"context"
	"encoding/binary"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cleave-lab/cleave/backing/server"
	"github.com/cleave-lab/cleave/backing/wide/straight"
	"github.com/cleave-lab/cleave/internal/servers"
)

// BenchmarkInsertAndGet writes records and reads them back, by so many users; one operation
// is both. Straight is Cassandra's driver without us.
func BenchmarkInsertAndGet(b *testing.B) {
	instance := servers.Started(b, server.Cassandra, server.Settings{})
	place := Table{Name: "bench", Columns: []string{"sealed"}}
	open := func(address string) *Store {
		store := openerOf(b, address, "bench")(Options{})
		must(b, store.CreateTables(b.Context(), place))
		return store
	}
	ours := func(store *Store) func(ctx context.Context, key [16]byte, value []byte) error {
		return func(ctx context.Context, key [16]byte, value []byte) error {
			if err := store.Insert(ctx, place.Name, key, value); err != nil {
				return err
			}
			_, err := store.Get(ctx, place.Name, key)
			return err
		}
	}
	sqlite, cassandra := open("sqlite://"+filepath.ToSlash(b.TempDir())), open(instance.URL())
	driver, err := straight.Open(instance.URL(), "bench", place.Name, place.Columns[0], 8)
	must(b, err)
	b.Cleanup(driver.Close)
	for _, users := range []int{1, 32} {
		bench(b, fmt.Sprint("sqlite/users=", users), users, ours(sqlite))
		bench(b, fmt.Sprint("cassandra/users=", users), users, ours(cassandra))
		bench(b, fmt.Sprint("straight/users=", users), users,
			func(ctx context.Context, key [16]byte, value []byte) error {
				if err := driver.Insert(ctx, key, value); err != nil {
					return err
				}
				_, err := driver.Get(ctx, key)
				return err
			})
	}
}

// bench deals the operations out to whoever is free.
func bench(
	b *testing.B, name string, users int, insertAndGet func(ctx context.Context, key [16]byte,
		value []byte) error,
) {
	b.Run(name, func(b *testing.B) {
		var next atomic.Int64
		var all sync.WaitGroup
		b.ResetTimer()
		for range users {
			all.Go(func() {
				for {
					n := next.Add(1)
					if n > int64(b.N) {
						return
					}
					var key [16]byte
					binary.BigEndian.PutUint64(key[:], uint64(n))
					if err := insertAndGet(b.Context(), key, make([]byte, 100)); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
		all.Wait()
		b.ReportMetric(2*float64(b.N)/b.Elapsed().Seconds(), "requests/s")
	})
}
