// Package database is the SQL client of all systems: one handle for SQLite,
// MariaDB and PostgreSQL with the same semantics in all three. Queries are written
// once, with `?` for values.
//
// DB.Do runs a function in a transaction. The transaction travels in the context:
// a Do inside another one of the same database joins it. So a component that wraps
// its work in Do takes part in its caller's transaction if both share the database,
// and has a transaction of its own otherwise, without a difference in its code.
//
// Isolation is read committed in MariaDB and PostgreSQL; SQLite has one writer at
// a time, which is stricter. Code for all three guards its writes with conditions,
// such as UPDATE ... WHERE quantity >= ?, and checks the number of changed rows. Each
// commit is on disk before Do returns; Open refuses a server that commits without writing to disk.
//
// It starts no servers (package server does) and knows no tables.
//
// Entry points: Open, DB.Do, DB.Exec, DB.One, DB.Each; DB.Pool for an ORM.
package database
