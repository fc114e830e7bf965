package database

import "strings"

// Append returns the assignment of an UPDATE that appends a text, its one parameter, to a column.
func (db *DB) Append(column string) string { return column + " = " + db.Appended(column) }

// Appended returns what a column is with a text, its one parameter, at its end.
func (db *DB) Appended(column string) string {
	if db.driver == MariaDB {
		return "CONCAT(" + column + ", ?)"
	}
	return column + " || ?"
}

// Integer returns the placeholder of a whole number where nothing else tells its type, as in a CASE.
func (db *DB) Integer() string {
	if db.driver == PostgreSQL {
		return "CAST(? AS BIGINT)"
	}
	return "?"
}

// Define returns the text of a statement that makes a table, with this database's words for:
//
//	{number} a 64-bit key that is given       {position} one that the database counts up
//	{id}     36 ASCII characters              {key}      up to 64 of them
//	{word}   up to 16 of them                 {text}     up to 120
//	{journal} up to 255                       {name}     text, compared byte by byte
//	{bytes}  what is no text
//	{rows}   end of a table with a number as key          {keyed} of one with another key
func (db *DB) Define(statement string) string {
	words := []string{"{number}", "INTEGER", "{position}", "INTEGER PRIMARY KEY AUTOINCREMENT", "{id}", "TEXT",
		"{key}", "TEXT", "{word}", "TEXT", "{text}", "TEXT", "{journal}", "TEXT", "{name}", "TEXT",
		"{bytes}", "BLOB", "{rows}", "", "{keyed}", " WITHOUT ROWID"}
	switch db.driver {
	case MariaDB:
		const ascii, end = " CHARACTER SET ascii COLLATE ascii_bin",
			" ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin"
		words = []string{"{number}", "BIGINT", "{position}", "BIGINT AUTO_INCREMENT PRIMARY KEY",
			"{id}", "CHAR(36)" + ascii, "{key}", "VARCHAR(64)" + ascii, "{word}", "VARCHAR(16)" + ascii,
			"{text}", "VARCHAR(120)" + ascii, "{journal}", "VARCHAR(255)" + ascii, "{name}", "VARCHAR(255)",
			"{bytes}", "MEDIUMBLOB", "{rows}", end, "{keyed}", end}
	case PostgreSQL:
		const bytewise = ` COLLATE "C"`
		words = []string{"{number}", "BIGINT", "{position}", "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
			"{id}", "VARCHAR(36)" + bytewise, "{key}", "VARCHAR(64)" + bytewise, "{word}", "VARCHAR(16)" + bytewise,
			"{text}", "VARCHAR(120)" + bytewise, "{journal}", "VARCHAR(255)" + bytewise,
			"{name}", "VARCHAR(255)" + bytewise, "{bytes}", "BYTEA", "{rows}", "", "{keyed}", ""}
	}
	return strings.NewReplacer(words...).Replace(statement)
}
