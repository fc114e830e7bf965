package server

import (
	"fmt"
	"path/filepath"

	"github.com/cleave-lab/cleave/lab"
)

// installedPostgres returns the path of PostgreSQL with links resolved, because initdb is in the folder of
// the real program.
func installedPostgres() (Installed, error) {
	found, err := installed(Postgres, "postgres", "--version", "/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin")
	if err != nil {
		return found, err
	}
	found.Path, err = filepath.EvalSymlinks(found.Path)
	return found, err
}

func describePostgres(s *Server, unit *lab.UnitSpec) {
	unit.Files["postgresql.conf"] = lines(
		"data_directory = '{dir}/"+dataFolder+"'",
		"hba_file = '{dir}/pg_hba.conf'",
		"listen_addresses = '{host}'",
		"port = {port}",
		"unix_socket_directories = ''",
		fmt.Sprintf("max_connections = %d", s.settings.Connections),
		// The default is 0. Prepared transactions hold no connections, so there may be more of them.
		fmt.Sprintf("max_prepared_transactions = %d", 10*s.settings.Connections),
		// Durability. These are the defaults, too.
		"fsync = on",
		"synchronous_commit = on",
		"full_page_writes = on",
		// Size.
		fmt.Sprintf("shared_buffers = %dkB", max(s.settings.Memory>>10, 1024)),
		// Shared memory is in files of the data folder. In /dev/shm it would remain after a
		// server is killed.
		"dynamic_shared_memory_type = mmap",
		"max_wal_size = 512MB",
		"min_wal_size = 32MB",
		"log_timezone = 'UTC'",
		"timezone = 'UTC'",
		"lc_messages = 'C'",
	)
	unit.Files["pg_hba.conf"] = lines("host all all 0.0.0.0/0 scram-sha-256")
	unit.Files["postgres-password"] = lines(s.password)
	unit.Server.Setup = []lab.ServerSetup{{Program: filepath.Join(filepath.Dir(s.Path), "initdb"),
		Args: []string{
			"-D", "{dir}/" + dataFolder, "-U", s.user, "--pwfile={dir}/postgres-password",
			// Texts compare by their bytes, as in the other databases. The new files need not survive a crash of
			// the host (--no-sync): nobody uses them after their trial.
			"--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-sync", "--no-instructions"}}}
	unit.Args = []string{"-D", "{dir}/" + dataFolder, "-c", "config_file={dir}/postgresql.conf"}
}
