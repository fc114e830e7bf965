package server

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx" of database/sql
)

func postgres() program {
	return program{
		ports: 1, stop: syscall.SIGINT,
		installed: func(Settings) (Installed, error) { return installedPostgres() },
		prepare:   preparePostgres,
		processes: func(i *Instance) []process {
			return []process{{name: "postgres", env: searchPath(), args: []string{
				i.path, "-D", i.file(dataFolder), "-c", "config_file=" + i.file("postgresql.conf")}}}
		},
		ready: func(ctx context.Context, i *Instance) error { return pingSQL(ctx, "pgx", i.DSN("postgres")) },
	}
}

// installedPostgres follows links: initdb stands beside the server itself.
func installedPostgres() (Installed, error) {
	found, err := installed(Postgres, "postgres", "--version", "/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin")
	if err != nil {
		return found, err
	}
	found.Path, err = filepath.EvalSymlinks(found.Path)
	return found, err
}

func preparePostgres(_ context.Context, i *Instance) error {
	err := i.write("postgresql.conf",
		"data_directory = "+quoted(i.file(dataFolder)),
		"hba_file = "+quoted(filepath.Join(i.file(dataFolder), "pg_hba.conf")),
		"listen_addresses = '127.0.0.1'",
		fmt.Sprintf("port = %d", i.ports.Numbers[0]),
		"unix_socket_directories = ''",
		fmt.Sprintf("max_connections = %d", i.settings.Connections),
		// Durability, said once more although these are the defaults.
		"fsync = on",
		"synchronous_commit = on",
		"full_page_writes = on",
		// Size.
		fmt.Sprintf("shared_buffers = %dkB", max(i.settings.Memory>>10, 1024)),
		// In files of the data folder: in /dev/shm it would outlive a server that is
		// killed.
		"dynamic_shared_memory_type = mmap",
		"max_wal_size = 512MB",
		"min_wal_size = 32MB",
		"log_timezone = 'UTC'",
		"timezone = 'UTC'",
		"lc_messages = 'C'",
	)
	if err != nil || i.exists(dataFolder) {
		return err
	}
	if err := i.write("postgres-password", i.password); err != nil {
		return err
	}
	return i.firstData(func(data string) error {
		return i.run(process{name: "install", env: searchPath(), args: []string{
			filepath.Join(filepath.Dir(i.path), "initdb"), "-D", data, "-U", i.user, "--pwfile=" + i.file("postgres-password"),
			// Texts compare by their bytes, as in the other databases.
			"--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-sync", "--no-instructions"}})
	})
}

// quoted is a string in a PostgreSQL configuration file.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
