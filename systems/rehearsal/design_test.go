package rehearsal

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/model"
)

// shop returns the model of a small shop.
func shop(t *testing.T) model.Model {
	t.Helper()
	text, err := os.ReadFile("testdata/shop.model.yaml")
	testset.Must(t, err)
	m, err := model.Parse("shop.model.yaml", text)
	testset.Must(t, err)
	return m
}

// TestPlacements: the units of placements, their components and the units they call, written as
// "unit[components]>called". Stores that are servers are units.
func TestPlacements(t *testing.T) {
	for _, c := range []struct{ architecture, placement, want string }{
		{AsIs, "", "shop[front orders stock]>payments,cache payments[payments mail]>shop cache[]>"},
		{AsIs, "payments+mail,front+orders+stock",
			"payments[payments mail]>shop shop[front orders stock]>payments,cache cache[]>"},
		{Together, "", "front-and-4[front orders stock payments mail]>cache cache[]>"},
		{AsIs, "orders,payments", "orders[orders]>payments,front-stock-mail payments[payments]> " +
			"front-stock-mail[front stock mail]>orders,cache cache[]>"},
	} {
		knobs := map[string]string{}
		if c.placement != "" {
			knobs[KnobPlacement] = c.placement
		}
		d, err := New(shop(t), c.architecture, knobs)
		testset.Must(t, err)
		var units []string
		for i, u := range d.Units {
			var called []string
			for other := range d.Units {
				if d.CallsUnit(i, other) {
					called = append(called, d.Units[other].Name)
				}
			}
			units = append(units, fmt.Sprintf("%s%v>%s", u.Name, u.Components, strings.Join(called, ",")))
		}
		if got := strings.Join(units, " "); got != c.want {
			t.Errorf("%s %s: %s, want %s", c.architecture, c.placement, got, c.want)
		}
	}
}

// TestLimitsOfNewUnits: a unit merged from whole units has their joint limits, any other new one those of the
// unit that its first component comes from; package predict does the same.
func TestLimitsOfNewUnits(t *testing.T) {
	m := model.Model{Units: []model.Unit{{Name: "a", Components: []string{"x", "y"}, Cores: 1, Workers: 2},
		{Name: "b", Components: []string{"z"}, Cores: 2, Workers: 4},
		{Name: "c", Components: []string{"w"}, Cores: 4}}}
	for placement, want := range map[string]string{"x+y+z,w": "[x y z] 3 6, [w] 4 0",
		"y+x,z+w": "[x y] 1 2, [z w] 6 0", "z+y,x,w": "[z y] 2 4, [x] 1 2, [w] 4 0"} {
		units, err := place(m, placement)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, u := range units {
			got = append(got, fmt.Sprintf("%v %g %d", u.Components, u.Cores, u.Workers))
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%s: %s, want %s", placement, strings.Join(got, ", "), want)
		}
	}
}

// TestCallsOfADesign: visits of a store that is a server are calls to its unit, those of an embedded store
// are not, and only those of SQLite commit.
func TestCallsOfADesign(t *testing.T) {
	d, err := New(shop(t), AsIs, nil)
	testset.Must(t, err)
	var calls []string
	for i, c := range d.Calls {
		if c.Number != i {
			t.Errorf("call %d has the number %d", i, c.Number)
		}
		text := fmt.Sprintf("%s@%s", c.Name, d.Units[c.Unit].Name)
		if len(c.Visits) > 0 {
			text += fmt.Sprintf(" commits %t", d.Commits(c.Visits[0]))
		}
		calls = append(calls, text)
	}
	want := "POST /orders@shop, Create@shop commits true, Reserve@shop, Pay@payments, Look@shop, " +
		"Send@payments, Log@shop, GET /stock@shop, Count@shop, visit@cache"
	if got := strings.Join(calls, ", "); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	last := d.Calls[len(d.Calls)-1]
	if !last.OfStore || last.CPU.Mean.String() != "50µs" || last.Wait.Mean.String() != "350µs" {
		t.Errorf("the visit takes %v and %v", last.CPU.Mean, last.Wait.Mean)
	}
	if payments := d.Units[1]; payments.Workers != 2 || d.Units[2].Workers != 4 {
		t.Errorf("workers: %+v, %+v", payments, d.Units[2])
	}
	if !d.CommitsTo(0, "orders-db") || d.CommitsTo(1, "orders-db") || !d.IsCalled(0) {
		t.Error("the shop commits to its store, and is called")
	}
}

// TestInvalidDesigns are refused with the reason.
func TestInvalidDesigns(t *testing.T) {
	two := shop(t)
	two.Operations[1].Call.Component = "payments"
	for _, c := range []struct {
		m                        model.Model
		architecture, knob, want string
	}{
		{shop(t), "duolith", "", `the model has no architecture "duolith": use one of as-is, together, apart`},
		{shop(t), AsIs, "placement=front,shelf", `placement "front,shelf" names "shelf"`},
		{shop(t), AsIs, "calls=pigeon", `calls is "pigeon": use one of http, grpc`},
		{shop(t), AsIs, "pool=0", `pool is "0": use 1 to 1000`},
		{two, AsIs, "", "clients would call front in the unit shop and payments in payments: put what"},
	} {
		name, value, _ := strings.Cut(c.knob, "=")
		knobs := map[string]string{}
		if name != "" {
			knobs[name] = value
		}
		if _, err := New(c.m, c.architecture, knobs); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: %v, want %q", c.architecture, c.knob, err, c.want)
		}
	}
}

// TestUnitNames: they are valid and unique, and none is that of the generator.
func TestUnitNames(t *testing.T) {
	m := model.Model{Units: []model.Unit{{Name: "A b", Components: []string{"x"}},
		{Name: "a_B", Components: []string{"y"}}, {Name: "generator", Components: []string{"z"}},
		{Name: "--", Components: []string{"w"}}}}
	units, err := place(m, AsIs)
	testset.Must(t, err)
	got := ""
	for _, u := range units {
		got += u.Name + " "
	}
	if got != "a-b a-b-2 generator-2 unit " {
		t.Errorf("units are called %s", got)
	}
}

// TestBodiesHaveTheirLength: 11 bytes are the JSON around an empty load.
func TestBodiesHaveTheirLength(t *testing.T) {
	for bytes, want := range map[float64]int{0: 11, 11: 11, 12: 12, 210: 210, 99.6: 100} {
		if got := len(Body(bytes)); got != want {
			t.Errorf("the body for %g bytes has %d, want %d", bytes, got, want)
		}
	}
}
