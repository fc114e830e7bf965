package shop

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
)

// Seed is the size of a fresh shop. The same seed always makes the same shop.
type Seed struct {
	Customers int64  `json:"customers"`     // numbered from 1
	Products  int64  `json:"products"`      // numbered from 1
	Stock     int64  `json:"stock"`         // units of each product on the shelf
	Balance   int64  `json:"balance_cents"` // cents on the account of each customer
	Random    uint64 `json:"random"`        // of names and prices
}

// MaxRows bounds customers and products.
const MaxRows = 10_000_000

// Check names every mistake of a seed.
func (s Seed) Check() error {
	var mistakes []error
	within := func(name string, value, low, high int64) {
		if value < low || value > high {
			mistakes = append(mistakes, fmt.Errorf("shop: %s %d, use %d to %d", name, value, low, high))
		}
	}
	within("customers", s.Customers, 1, MaxRows)
	within("products", s.Products, 1, MaxRows)
	within("stock", s.Stock, 0, 1_000_000_000)
	within("balance_cents", s.Balance, 0, 1_000_000_000_000)
	return errors.Join(mistakes...)
}

// SeedProduct is one product of a fresh shop.
type SeedProduct struct {
	Name       string
	PriceCents int64 // 100 to 19,999
}

// Product makes the product of that number.
func (s Seed) Product(id int64) SeedProduct {
	random := rand.New(rand.NewPCG(s.Random, uint64(id)))
	quality := pick(random, qualities())
	thing := pick(random, things())
	name := fmt.Sprintf("%s %s %d", quality, thing, id)
	return SeedProduct{Name: name, PriceCents: 100 + random.Int64N(19_900)}
}

// SeedCustomer is one customer of a fresh shop.
type SeedCustomer struct {
	Name, Email, Address string
}

// Customer makes the customer of that number.
func (s Seed) Customer(id int64) SeedCustomer {
	random := rand.New(rand.NewPCG(^s.Random, uint64(id)))
	first := pick(random, firstNames())
	last := pick(random, lastNames())
	house := 1 + random.IntN(199)
	street := pick(random, things())
	postcode := random.IntN(100_000)
	town := pick(random, towns())
	return SeedCustomer{
		Name:    first + " " + last,
		Email:   fmt.Sprintf("%s.%s.%d@example.org", strings.ToLower(first), strings.ToLower(last), id),
		Address: fmt.Sprintf("%d %s Street, %05d %s", house, street, postcode, town),
	}
}

func pick(random *rand.Rand, words []string) string { return words[random.IntN(len(words))] }

func qualities() []string {
	return []string{"Amber", "Bright", "Calm", "Deep", "Early", "Fine", "Grand", "Handy", "Iron", "Jolly",
		"Keen", "Light", "Mild", "Neat", "Oaken", "Plain"}
}

func things() []string {
	return []string{"Basket", "Chair", "Desk", "Easel", "Flask", "Globe", "Hammer", "Jug", "Kettle", "Lamp",
		"Mirror", "Needle", "Oven", "Pillow", "Quilt", "Rug"}
}

func firstNames() []string {
	return []string{"Ada", "Bela", "Cleo", "Dora", "Emil", "Finn", "Gita", "Hugo", "Ines", "Jan", "Kai", "Lena",
		"Mara", "Nils", "Olga", "Paul"}
}

func lastNames() []string {
	return []string{"Adler", "Braga", "Costa", "Dias", "Esteves", "Faria", "Gomes", "Horta", "Jorge", "Lopes",
		"Matos", "Neves", "Pinto", "Reis", "Silva", "Viana"}
}

func towns() []string {
	return []string{"Aveiro", "Beja", "Chaves", "Douro", "Evora", "Faro", "Guarda", "Leiria"}
}
