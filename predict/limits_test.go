package predict

import (
	"slices"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/model"
)

// TestSharedStoresAreNamed, also where the name of a component ends with that of another.
func TestSharedStoresAreNamed(t *testing.T) {
	a := Answer{Question: splitStock()}
	front := &a.Question.Model.Operations[0].Call
	again := model.Call{Component: "reorders", Name: "Repeat", Count: 1, Source: model.Trace, N: 100,
		CPU: of(time.Microsecond), Visits: front.Calls[0].Visits}
	front.Calls = append([]model.Call{again}, front.Calls...)
	unit := &a.Question.Model.Units[0]
	unit.Components = append(unit.Components, "reorders")
	a.Units = []model.Unit{{Name: "a", Components: []string{"front", "orders", "stock"}},
		{Name: "b", Components: []string{"reorders"}}}
	if got := a.sharedStores(); !slices.Equal(got, []string{"reorders and orders both use db"}) {
		t.Errorf("%q, want that reorders and orders both use db", got)
	}
}
