package server

import (
	"net/url"
	"os"
)

// DSN is the address with the credentials in it, in the form that the Go client
// of the server takes. The database is that of the name; brokers have none. It is
// a secret: it belongs in environments and files, not in arguments.
func (i *Instance) DSN(database string) string {
	address := url.URL{User: url.UserPassword(i.user, i.password), Host: i.Address()}
	switch i.Kind {
	case MariaDB:
		return mysqlDSN(i, database)
	case Postgres:
		address.Scheme, address.Path, address.RawQuery = "postgres", database, "sslmode=disable"
	case RabbitMQ:
		address.Scheme, address.Path = "amqp", "/"
	case NATS:
		address.Scheme = "nats"
	case Mongo:
		address.Scheme, address.Path, address.RawQuery = "mongodb", database, "directConnection=true&authSource=admin"
	}
	return address.String()
}

// URL is the address of the server as one URL with the credentials. Databases are
// named by who uses them: those of MariaDB and PostgreSQL are made through
// database.Place, the other servers make theirs when they are first used.
func (i *Instance) URL() string {
	if i.Kind != MariaDB && i.Kind != Postgres {
		return i.DSN("")
	}
	address := url.URL{Scheme: string(i.Kind), User: url.UserPassword(i.user, i.password), Host: i.Address()}
	return address.String()
}

// searchPath is the least environment of a server: nothing of ours reaches it
// but where programs are.
func searchPath() []string {
	return []string{"PATH=" + os.Getenv("PATH") + ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C", "TZ=UTC"}
}
