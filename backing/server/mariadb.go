package server

import (
	"fmt"

	"github.com/cleave-lab/cleave/lab"
)

// installedMariaDB returns the installed server. It requires the program for its data folder, too.
func installedMariaDB() (Installed, error) {
	if _, err := mariadbInstaller(); err != nil {
		return Installed{}, err
	}
	return installed(MariaDB, "mariadbd", "--version", "/usr/sbin", "/usr/libexec")
}

// mariadbInstaller returns the program that creates the data folder of a new server.
func mariadbInstaller() (string, error) {
	return find(MariaDB, "mariadb-install-db", "/usr/bin", "/usr/local/bin")
}

func describeMariaDB(s *Server, unit *lab.UnitSpec) {
	unit.Files["mariadb.cnf"] = lines(
		"[mariadbd]",
		"datadir={dir}/"+dataFolder,
		"socket=mariadb.sock", // relative to datadir, because paths of sockets are limited to 107 bytes
		"pid-file={dir}/mariadb.pid",
		"bind-address={host}",
		"port={port}",
		fmt.Sprintf("max-connections=%d", s.settings.Connections),
		"skip-name-resolve",
		"character-set-server=utf8mb4",
		"collation-server=utf8mb4_nopad_bin", // texts compare by their bytes, as in the other databases
		// Durability: the log is on the disk before a commit returns, and pages are
		// written twice. The binary log is only needed for replication.
		"innodb-flush-log-at-trx-commit=1",
		"innodb-doublewrite=1",
		"skip-log-bin",
		// Size.
		fmt.Sprintf("innodb-buffer-pool-size=%d", max(s.settings.Memory, 8<<20)),
		"innodb-log-file-size=48M",
		"performance-schema=OFF",
		"key-buffer-size=1M",
		"aria-pagecache-buffer-size=1M",
	)
	// The server executes these statements before it accepts connections.
	unit.Files["mariadb-init.sql"] = lines(
		fmt.Sprintf("CREATE OR REPLACE USER '%s'@'%%' IDENTIFIED BY '%s';", s.user, s.password),
		fmt.Sprintf("GRANT ALL PRIVILEGES ON *.* TO '%s'@'%%' WITH GRANT OPTION;", s.user),
		fmt.Sprintf("DELETE FROM mysql.global_priv WHERE User NOT IN ('%s', 'mariadb.sys');", s.user),
		"FLUSH PRIVILEGES;",
	)
	// When a server starts, it removes all temporary tables in its temporary folder, also
	// those of other running servers. So it must not share that folder, as /tmp would be.
	unit.Files["temporary/"] = nil
	unit.Env = append(unit.Env, "TMPDIR={dir}/temporary")
	installer, err := mariadbInstaller()
	if err != nil {
		installer = "mariadb-install-db" // it was found before; if it is gone, starting it fails
	}
	unit.Server.Setup = []lab.ServerSetup{{Program: installer, Args: []string{
		"--no-defaults", "--datadir={dir}/" + dataFolder, "--skip-test-db", "--skip-name-resolve",
		"--auth-root-authentication-method=normal"}}}
	unit.Args = []string{"--defaults-file={dir}/mariadb.cnf", "--init-file={dir}/mariadb-init.sql"}
}
