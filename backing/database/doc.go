// Package database is the SQL client of all systems: one handle over SQLite,
// MariaDB and PostgreSQL with the same meaning in all three. Queries are written
// once, with `?` for values.
//
// DB.Do runs a function in a transaction. The transaction travels in the context:
// a Do inside another one of the same database joins it. A component that wraps
// its work in Do is therefore one part of a larger transaction where its caller
// shares the database, and a transaction of its own where not; it cannot tell.
//
// Isolation is read committed in MariaDB and PostgreSQL; SQLite has one writer at
// a time, which is stricter. Code that must hold in all three guards its writes:
// UPDATE ... WHERE quantity >= ?, then it looks at the number of rows. Each commit
// is on disk before Do returns; Open refuses a server that is set otherwise.
//
// It starts no servers (package server does) and knows no tables.
// Entry points: Open, DB.Do, DB.Exec, DB.One, DB.Each; DB.Pool for an ORM.
package database
