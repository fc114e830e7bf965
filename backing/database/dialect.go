package database

import "strings"

// Append returns an assignment for UPDATE that appends a text to a column. The text is the argument of the
// one placeholder in it.
func (db *DB) Append(column string) string { return column + " = " + db.Appended(column) }

// Appended returns an expression: the value of a column and, behind it, a text, which is the argument of the
// one placeholder in it.
func (db *DB) Appended(column string) string {
	if db.driver == MariaDB {
		return "CONCAT(" + column + ", ?)"
	}
	return column + " || ?"
}

// Integer returns the placeholder of an integer whose type PostgreSQL cannot infer, as in a CASE.
func (db *DB) Integer() string {
	if db.driver == PostgreSQL {
		return "CAST(? AS BIGINT)"
	}
	return "?"
}

// Define returns a CREATE TABLE statement with these placeholders replaced for this database. Every table
// must end with {rows} or {keyed}, which set how MariaDB compares its texts: by their bytes, with spaces at
// the end, as the other databases do.
//
//	{number}   a 64-bit integer               {position} a 64-bit primary key that counts up by itself
//	{id}       36 ASCII characters            {key}      up to 64 ASCII characters
//	{word}     up to 16 ASCII characters      {text}     up to 120 ASCII characters
//	{journal}  up to 255 ASCII characters     {name}     up to 255 characters, compared byte by byte
//	{bytes}    binary data
//	{rows}     at the end of a table whose primary key is a number
//	{keyed}    at the end of a table with any other primary key; SQLite stores its rows by that key
func (db *DB) Define(statement string) string {
	types := []string{"{number}", "INTEGER", "{position}", "INTEGER PRIMARY KEY AUTOINCREMENT", "{id}", "TEXT",
		"{key}", "TEXT", "{word}", "TEXT", "{text}", "TEXT", "{journal}", "TEXT", "{name}", "TEXT",
		"{bytes}", "BLOB", "{rows}", "", "{keyed}", " WITHOUT ROWID"}
	switch db.driver {
	case MariaDB:
		const ascii, end = " CHARACTER SET ascii COLLATE ascii_nopad_bin",
			" ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin"
		types = []string{"{number}", "BIGINT", "{position}", "BIGINT AUTO_INCREMENT PRIMARY KEY",
			"{id}", "VARCHAR(36)" + ascii, "{key}", "VARCHAR(64)" + ascii, "{word}", "VARCHAR(16)" + ascii,
			"{text}", "VARCHAR(120)" + ascii, "{journal}", "VARCHAR(255)" + ascii, "{name}", "VARCHAR(255)",
			"{bytes}", "MEDIUMBLOB", "{rows}", end, "{keyed}", end}
	case PostgreSQL:
		const bytewise = ` COLLATE "C"`
		types = []string{"{number}", "BIGINT", "{position}", "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
			"{id}", "VARCHAR(36)" + bytewise, "{key}", "VARCHAR(64)" + bytewise, "{word}", "VARCHAR(16)" + bytewise,
			"{text}", "VARCHAR(120)" + bytewise, "{journal}", "VARCHAR(255)" + bytewise,
			"{name}", "VARCHAR(255)" + bytewise, "{bytes}", "BYTEA", "{rows}", "", "{keyed}", ""}
	}
	return strings.NewReplacer(types...).Replace(statement)
}
