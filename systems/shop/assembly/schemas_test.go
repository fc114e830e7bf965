package assembly_test

import (
	"maps"
	"testing"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/backing/database/databasetest"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/shop/architecture"
	"github.com/cleave-lab/cleave/systems/shop/audit"
)

// inSchemas are knobs that give each component a schema in one database.
func inSchemas(turned map[string]string) map[string]string {
	all := map[string]string{architecture.KnobData: "schemas", architecture.KnobDatabase: "postgres"}
	maps.Copy(all, turned)
	return all
}

// schemaDesigns returns those whose tables may lie in a schema for each component.
func schemaDesigns(t *testing.T) map[string]architecture.Design {
	t.Helper()
	designs := map[string]architecture.Design{}
	for name, c := range map[string]struct {
		architecture string
		turned       map[string]string
	}{
		"monolith": {architecture.Monolith, nil},
		"ACID beside reads": {architecture.Monolith,
			map[string]string{architecture.KnobPlacement: "catalog,customers"}},
		"sync":             {architecture.Sync, nil},
		"saga in one unit": {architecture.SyncGRPC, map[string]string{architecture.KnobPlacement: "together"}},
		"async":            {architecture.Async, nil},
	} {
		design, err := architecture.New(c.architecture, inSchemas(c.turned))
		must(t, err)
		designs[name] = design
	}
	return designs
}

// startInSchemas runs a design on PostgreSQL.
func startInSchemas(t *testing.T, design architecture.Design) (shopOf, string) {
	t.Helper()
	around := eventParts{}
	if design.Broker != "" {
		around = eventParts{broker: natsBroker(t), documents: sqliteDocuments(t)}
	}
	return start(t, design, func(t testing.TB) database.Config {
		return databasetest.Fresh(t, database.PostgreSQL)
	}, around)
}

func TestSchemasBehave(t *testing.T) {
	for name, design := range schemaDesigns(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, public := startInSchemas(t, design)
			playSuite(t, public)
		})
	}
}

// TestSchemasAreAudited orders and cancels, and holds what is on record in the
// schemas against what clients were told.
func TestSchemasAreAudited(t *testing.T) {
	for name, design := range schemaDesigns(t) {
		if design.Broker != "" {
			continue // TestNothingIsLostUnderFaults audits it
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			running, public := startInSchemas(t, design)
			clients := &customers{base: public}
			clients.order(t, 100)
			clients.cancel(t, 30)
			got := audit.Judge(running.recorded(t, running.database(t, design.DatabaseOf), clients))
			if got.Verdict != lab.AuditValid || got.Counts["orders"] == 0 {
				t.Errorf("%s: %v of %v", got.Verdict, got.Problems, got.Counts)
			}
		})
	}
}
