package mapped

import (
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/callbacks"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"
	"gorm.io/gorm/schema"
)

// sqlite implements gorm.Dialector: gorm's own for SQLite needs C.
type sqlite struct{ pool gorm.ConnPool }

// Name implements gorm.Dialector.
func (sqlite) Name() string { return "sqlite" }

// Initialize implements gorm.Dialector. SQLite has one writer, and locks no rows.
func (d sqlite) Initialize(db *gorm.DB) error {
	callbacks.RegisterDefaultCallbacks(db, &callbacks.Config{LastInsertIDReversed: true})
	db.ConnPool = d.pool
	db.ClauseBuilders["FOR"] = func(clause.Clause, clause.Builder) {}
	return nil
}

// Migrator implements gorm.Dialector: package schema makes the tables.
func (sqlite) Migrator(*gorm.DB) gorm.Migrator { return nil }

// DataTypeOf implements gorm.Dialector for migrations.
func (sqlite) DataTypeOf(*schema.Field) string { return "" }

// DefaultValueOf implements gorm.Dialector: columns that the database fills have none.
func (sqlite) DefaultValueOf(*schema.Field) clause.Expression { return clause.Expr{SQL: "NULL"} }

// BindVarTo implements gorm.Dialector.
func (sqlite) BindVarTo(to clause.Writer, _ *gorm.Statement, _ any) { _ = to.WriteByte('?') }

// QuoteTo implements gorm.Dialector.
func (sqlite) QuoteTo(to clause.Writer, name string) {
	_, _ = to.WriteString("`" + strings.ReplaceAll(name, ".", "`.`") + "`")
}

// Explain implements gorm.Dialector, for logs.
func (sqlite) Explain(text string, values ...any) string {
	return logger.ExplainSQL(text, nil, `"`, values...)
}
