// Package catalog is the component of products: their names and prices, and the search
// by name. It knows no stock.
package catalog

import (
	"context"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
)

// Catalog implements shop.Catalog on its tables.
type Catalog struct {
	db        *database.DB
	tables    Tables
	onReprice func(context.Context, *shoppb.ProductRepriced) error // see OnReprice; may be nil
}

var _ shop.Catalog = (*Catalog)(nil)

// New makes the component on the tables of its database.
func New(db *database.DB, tables Tables) *Catalog { return &Catalog{db: db, tables: tables} }

// Quote implements shop.Catalog.
func (c *Catalog) Quote(ctx context.Context, in *shoppb.QuoteRequest) (*shoppb.QuoteResponse, error) {
	ids := in.GetProductIds()
	if len(ids) == 0 || len(ids) > shop.MaxLines {
		return nil, rpc.Problemf(rpc.InvalidArgument, "a quote for %d products, ask for 1 to %d", len(ids),
			shop.MaxLines)
	}
	rows, err := c.tables.Products(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("quote %d products: %w", len(ids), err)
	}
	found := make(map[int64]*shoppb.Product, len(rows))
	for _, row := range rows {
		found[row.ProductID] = row.message()
	}
	products := make([]*shoppb.Product, len(ids))
	for i, id := range ids {
		if products[i] = found[id]; products[i] == nil {
			return nil, shop.NoProduct(id)
		}
	}
	return &shoppb.QuoteResponse{Products: products}, nil
}

// GetProduct implements shop.Catalog.
func (c *Catalog) GetProduct(ctx context.Context, in *shoppb.GetProductRequest) (*shoppb.Product, error) {
	product, err := c.product(ctx, in.GetProductId())
	if err != nil {
		return nil, fmt.Errorf("get product %d: %w", in.GetProductId(), err)
	}
	return product.message(), nil
}

// product returns a product, or UnknownProduct.
func (c *Catalog) product(ctx context.Context, id int64) (Product, error) {
	rows, err := c.tables.Products(ctx, []int64{id})
	if err != nil {
		return Product{}, err
	}
	if len(rows) == 0 {
		return Product{}, shop.NoProduct(id)
	}
	return rows[0], nil
}

// ListProducts implements shop.Catalog.
func (c *Catalog) ListProducts(
	ctx context.Context, in *shoppb.ListProductsRequest,
) (*shoppb.ProductPage, error) {
	size, err := shop.PageSize(in.GetPageSize())
	if err != nil {
		return nil, err
	}
	if err := shop.CheckPrefix(in.GetNamePrefix()); err != nil {
		return nil, err
	}
	prefix := strings.ToLower(in.GetNamePrefix())
	after, err := parseCursor(in.GetCursor(), prefix)
	if err != nil {
		return nil, err
	}
	found, err := c.tables.Beyond(ctx, after.name, after.product, prefix+lastRune, size+1)
	if err != nil {
		return nil, fmt.Errorf("list products that begin with %q: %w", prefix, err)
	}
	page := &shoppb.ProductPage{}
	for _, product := range found {
		page.Products = append(page.Products, product.message())
	}
	if len(page.Products) > size {
		page.Products = page.Products[:size]
		last := page.Products[size-1]
		next := cursor{strings.ToLower(last.GetName()), last.GetProductId()}
		page.NextCursor = next.String()
	}
	return page, nil
}

// lastRune is after every other: names that begin with a text are between the
// text and the text with lastRune.
const lastRune = "\U0010FFFF"

// cursor is the last product of a page.
type cursor struct {
	name    string // in lower case
	product int64
}

// String returns the text that clients get.
func (c cursor) String() string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(c.product, 10) + " " + c.name))
}

// parseCursor reads a cursor. An empty text is the cursor just before the prefix.
func parseCursor(text, prefix string) (cursor, error) {
	if text == "" {
		return cursor{name: prefix}, nil
	}
	wrong := rpc.Problemf(rpc.InvalidArgument, "the cursor is not one that this search has returned")
	decoded, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return cursor{}, wrong
	}
	number, name, _ := strings.Cut(string(decoded), " ")
	product, err := strconv.ParseInt(number, 10, 64)
	if err != nil || !strings.HasPrefix(name, prefix) || shop.CheckPrefix(name) != nil {
		return cursor{}, wrong
	}
	return cursor{name, product}, nil
}
