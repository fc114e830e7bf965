package server

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/go-sql-driver/mysql"
)

func mariadb() program {
	return program{
		ports: 1, stop: syscall.SIGTERM,
		installed: func(Settings) (Installed, error) {
			if _, err := mariadbInstaller(); err != nil {
				return Installed{}, err
			}
			return installed(MariaDB, "mariadbd", "--version", "/usr/sbin", "/usr/libexec")
		},
		prepare:   prepareMariaDB,
		processes: mariadbProcesses,
		ready:     func(ctx context.Context, i *Instance) error { return pingSQL(ctx, "mysql", i.DSN("mysql")) },
	}
}

// scratchFolder holds temporary tables. A MariaDB that starts removes those that
// it finds, also those of others that run and share a folder with it, as all would
// share /tmp.
const scratchFolder = "scratch"

func mariadbEnvironment(i *Instance) []string {
	return append(searchPath(), "TMPDIR="+i.file(scratchFolder))
}

// mariadbInstaller is the program that makes the data folder of a new server.
func mariadbInstaller() (string, error) {
	return find(MariaDB, "mariadb-install-db", "/usr/bin", "/usr/local/bin")
}

func prepareMariaDB(_ context.Context, i *Instance) error {
	err := i.write("mariadb.cnf",
		"[mariadbd]",
		"datadir="+i.file(dataFolder),
		"socket=mariadb.sock", // relative to datadir: a path may have 107 bytes only
		"pid-file="+i.file("mariadb.pid"),
		"bind-address=127.0.0.1",
		fmt.Sprintf("port=%d", i.ports.Numbers[0]),
		fmt.Sprintf("max-connections=%d", i.settings.Connections),
		"skip-name-resolve",
		"character-set-server=utf8mb4",
		"collation-server=utf8mb4_bin", // texts compare by their bytes, as in the other databases
		// Durability: the log is on the disk before a commit returns, pages are
		// written twice. There is no replica, hence no binary log to keep in step.
		"innodb-flush-log-at-trx-commit=1",
		"innodb-doublewrite=1",
		"skip-log-bin",
		// Size.
		fmt.Sprintf("innodb-buffer-pool-size=%d", max(i.settings.Memory, 8<<20)),
		"innodb-log-file-size=48M",
		"performance-schema=OFF",
		"key-buffer-size=1M",
		"aria-pagecache-buffer-size=1M",
	)
	if err != nil {
		return err
	}
	// The server runs these statements before it lets anybody in.
	err = i.write("mariadb-init.sql",
		fmt.Sprintf("CREATE OR REPLACE USER '%s'@'127.0.0.1' IDENTIFIED BY '%s';", i.user, i.password),
		fmt.Sprintf("GRANT ALL PRIVILEGES ON *.* TO '%s'@'127.0.0.1' WITH GRANT OPTION;", i.user),
		fmt.Sprintf("DELETE FROM mysql.global_priv WHERE User NOT IN ('%s', 'mariadb.sys');", i.user),
		"FLUSH PRIVILEGES;",
	)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(i.file(scratchFolder), 0o700); err != nil || i.exists(dataFolder) {
		return err
	}
	installer, err := mariadbInstaller()
	if err != nil {
		return err
	}
	return i.firstData(func(data string) error {
		return i.run(process{name: "install", env: mariadbEnvironment(i), args: []string{
			installer, "--no-defaults", "--datadir=" + data, "--skip-test-db", "--skip-name-resolve",
			"--auth-root-authentication-method=normal"}})
	})
}

func mariadbProcesses(i *Instance) []process {
	return []process{{name: "mariadb", env: mariadbEnvironment(i), args: []string{
		i.path, "--defaults-file=" + i.file("mariadb.cnf"), "--init-file=" + i.file("mariadb-init.sql")}}}
}

// pingSQL logs in and has the database work.
func pingSQL(ctx context.Context, driver, dsn string) error {
	database, err := sql.Open(driver, dsn)
	if err != nil {
		return err
	}
	defer func() { _ = database.Close() }() // nothing is under way
	var one int
	return database.QueryRowContext(ctx, "SELECT 1").Scan(&one)
}

// mysqlDSN is the Go driver's form of an address.
func mysqlDSN(i *Instance, database string) string {
	config := mysql.NewConfig()
	config.User, config.Passwd = i.user, i.password
	config.Net, config.Addr, config.DBName = "tcp", i.Address(), database
	config.Timeout = 5 * time.Second
	config.Logger = &mysql.NopLogger{} // errors are returned as well
	return config.FormatDSN()
}
