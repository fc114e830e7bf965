// Package assembly joins the components of the shop into units. It is the only
// place that knows how each component is made.
//
// Entry points: Prepare and Run for the processes of a trial, Host for the components of one unit, Monolith
// for all components in this process.
package assembly

import (
	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/architecture"
)

// Monolith joins all components in this process on one database, with one
// transaction per order.
func Monolith(db *database.DB) (shop.Parts, error) {
	design, err := architecture.New(architecture.Monolith, nil)
	if err != nil {
		return shop.Parts{}, err
	}
	hosted, err := Host(design, design.Units[0],
		Surroundings{Database: func(string) *database.DB { return db }})
	return hosted.Parts, err
}
