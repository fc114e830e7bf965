package predict

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/model"
)

// placed writes units as "name[replicas cores workers]: components".
func placed(units []model.Unit) string {
	var all []string
	for _, u := range units {
		all = append(all, fmt.Sprintf("%s[%d %g %d]: %s", u.Name, u.Replicas, u.Cores, u.Workers,
			strings.Join(u.Components, " ")))
	}
	return strings.Join(all, "; ")
}

// TestChanges: what becomes of units, and what a change that cannot be made is refused with.
func TestChanges(t *testing.T) {
	m := model.Model{Units: []model.Unit{
		{Name: "shop", Components: []string{"front", "orders", "mail"}, Replicas: 1, Cores: 2, Workers: 8},
		{Name: "stock", Components: []string{"inventory"}, Replicas: 3, Cores: 1, Workers: 4},
		{Name: "pay", Components: []string{"payments"}, Replicas: 1},
	}}
	for name, c := range map[string]struct {
		change Change
		want   string
		wrong  string
	}{
		"split": {Change{Split: ParseGroups("orders,mail")}, "shop[1 2 8]: front; stock[3 1 4]: inventory; " +
			"pay[1 0 0]: payments; orders[1 2 8]: orders; mail[1 2 8]: mail", ""},
		"together": {Change{Split: ParseGroups("orders+payments")}, "shop[1 2 8]: front mail; " +
			"stock[3 1 4]: inventory; orders+payments[1 2 8]: orders payments", ""},
		"all of it": {Change{Split: ParseGroups("payments")}, "shop[1 2 8]: front orders mail; " +
			"stock[3 1 4]: inventory; payments[1 0 0]: payments", ""},
		"all of it, with replicas": {Change{Split: ParseGroups("inventory")}, "shop[1 2 8]: front orders mail; " +
			"pay[1 0 0]: payments; inventory[3 1 4]: inventory", ""},
		"merge": {Change{Merge: []string{"shop", "inventory"}}, "pay[1 0 0]: payments; " +
			"shop+stock[3 3 12]: front orders mail inventory", ""},
		"without limit": {Change{Merge: []string{"stock", "pay"}}, "shop[1 2 8]: front orders mail; " +
			"stock+pay[3 0 0]: inventory payments", ""},
		"replicas": {Change{Replicas: map[string]int{"pay": 4}}, "shop[1 2 8]: front orders mail; " +
			"stock[3 1 4]: inventory; pay[4 0 0]: payments", ""},
		"split and its replicas": {Change{Split: ParseGroups("orders"), Replicas: map[string]int{"orders": 2}},
			"shop[1 2 8]: front mail; stock[3 1 4]: inventory; pay[1 0 0]: payments; orders[2 2 8]: orders", ""},
		"unknown component": {Change{Split: ParseGroups("oders")}, "", `cannot split off "oders"`},
		"twice":             {Change{Split: ParseGroups("orders+orders")}, "", "named twice"},
		"unknown unit":      {Change{Merge: []string{"shop", "stocks"}}, "", `cannot merge "stocks"`},
		"one unit":          {Change{Merge: []string{"front", "mail"}}, "", "all of it is in the unit shop"},
		"no replicas":       {Change{Replicas: map[string]int{"pay": 0}}, "", `0 replicas of "pay"`},
		"several, all wrong": {Change{Replicas: map[string]int{"y": 2, "x": 2, "b": 2, "z": 2, "a": 2, "c": 2}}, "",
			`2 replicas of "a"`},
	} {
		units, err := c.change.Apply(m)
		if c.wrong != "" {
			if err == nil || !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("%s: %v, want %q", name, err, c.wrong)
			}
			continue
		}
		if err != nil || placed(units) != c.want {
			t.Errorf("%s: %v\n%s, want\n%s", name, err, placed(units), c.want)
		}
	}
	if got := placed(m.Units); !strings.HasPrefix(got, "shop[1 2 8]: front orders mail; stock") {
		t.Errorf("the model itself has changed: %s", got)
	}
	all := Change{Split: ParseGroups("orders+mail"), Merge: []string{"a", "b"},
		Replicas: map[string]int{"z": 2, "y": 3}, Stores: StorePerUnit}
	want := "orders and mail apart, a and b in one unit, y with 3 replicas, z with 2 replicas, " +
		"stores of its own for each unit"
	if all.String() != want {
		t.Errorf("in words: %s", all)
	}
}
