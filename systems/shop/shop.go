// Package shop is an e-commerce shop (after Costa and Ribeiro 2021): customers
// order products; an order takes stock, money and a shipment, or nothing. It is
// written once; which architecture it runs in is decided where it is assembled.
//
// Here is the vocabulary: what each component can do (components.go), how calls
// fail (ProblemOf), which states an order can have (states.go), how large the shop
// is (Seed) and what it accepts (limits.go). It knows no database, no socket and
// no architecture.
//
// The messages between components are in shoppb. catalog, customers, inventory,
// payments, shipping and orders hold one component each: its rules and its SQL.
// orderviews and stockviews are the read side; where events keep it up to date,
// readmodel does. coordination and its sub-packages carry an order from step to
// step. schema makes and fills the tables, assembly joins components into units (its
// tests hold every architecture to one behaviour), api is the public REST interface,
// and audit judges what a trial has left behind.
package shop

// Name is the name of the system in study files.
const Name = "shop"

// The names of the components. Units, and databases of one component, are named after theirs.
const (
	ComponentCatalog   = "catalog"
	ComponentCustomers = "customers"
	ComponentInventory = "inventory"
	ComponentPayments  = "payments"
	ComponentShipping  = "shipping"
	ComponentOrders    = "orders"
	// The read models; they own tables only where events keep them up to date.
	ComponentOrderViews = "orderviews"
	ComponentStockViews = "stockviews"
)

// Components lists all components that own tables.
func Components() []string {
	return []string{
		ComponentCatalog, ComponentCustomers, ComponentInventory,
		ComponentPayments, ComponentShipping, ComponentOrders,
	}
}
