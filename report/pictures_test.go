package report

import (
	"slices"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/lab"
)

func TestPicturesAreDrawn(t *testing.T) {
	v := newView(fixture(t, "shop-under-load.json"))
	s := v.pictureSection()
	if len(s.Plots) != 3 || !strings.Contains(s.Plots[1].Label, "orders uses catalog (http): 1.00 calls") {
		t.Errorf("the plots are %+v", s.Plots)
	}
	rows := s.Folded[0].Rows
	if !slices.ContainsFunc(rows, func(r []cell) bool {
		return r[1].Text == "database (mariadb)" && r[2].Text == "1"
	}) ||
		!slices.ContainsFunc(rows, func(r []cell) bool {
			return r[1].Text == "documents (sqlite)" && r[2].Text == "in the units"
		}) {
		t.Errorf("the rows are %+v", rows)
	}
}

func TestASinglePartIsNotDrawn(t *testing.T) {
	a := fixture(t, "shop-under-load.json")
	alone := a.Pictures[0]
	alone.Parts = []lab.PicturePart{{Part: lab.Part{Name: lab.RoleGenerator, Units: 1}},
		{Part: lab.Part{Name: "system", Units: 1}}}
	a.Pictures = []lab.Picture{alone}
	if s := newView(a).pictureSection(); len(s.Plots) > 0 {
		t.Errorf("drawn: %+v", s.Plots)
	}
}
