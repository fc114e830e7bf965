package remote

import (
	"context"

	"google.golang.org/grpc"

	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
)

// RegisterCatalog serves a component's calls on a binding.
func RegisterCatalog(binding grpc.ServiceRegistrar, component shop.Catalog) {
	shoppb.RegisterCatalogServer(binding, struct {
		shop.Catalog
		shoppb.UnsafeCatalogServer
	}{Catalog: component})
}

// NewCatalog returns the component at the other end of a binding.
func NewCatalog(binding grpc.ClientConnInterface) shop.Catalog {
	return catalog{shoppb.NewCatalogClient(binding)}
}

type catalog struct{ client shoppb.CatalogClient }

func (c catalog) Quote(ctx context.Context, in *shoppb.QuoteRequest) (*shoppb.QuoteResponse, error) {
	return c.client.Quote(ctx, in)
}

func (c catalog) GetProduct(ctx context.Context, in *shoppb.GetProductRequest) (*shoppb.Product, error) {
	return c.client.GetProduct(ctx, in)
}

func (c catalog) ListProducts(
	ctx context.Context, in *shoppb.ListProductsRequest,
) (*shoppb.ProductPage, error) {
	return c.client.ListProducts(ctx, in)
}

// RegisterCustomers serves a component's calls on a binding.
func RegisterCustomers(binding grpc.ServiceRegistrar, component shop.Customers) {
	shoppb.RegisterCustomersServer(binding, struct {
		shop.Customers
		shoppb.UnsafeCustomersServer
	}{Customers: component})
}

// NewCustomers returns the component at the other end of a binding.
func NewCustomers(binding grpc.ClientConnInterface) shop.Customers {
	return customers{shoppb.NewCustomersClient(binding)}
}

type customers struct{ client shoppb.CustomersClient }

func (c customers) GetCustomer(ctx context.Context, in *shoppb.GetCustomerRequest) (*shoppb.Customer, error) {
	return c.client.GetCustomer(ctx, in)
}

func (c customers) GetCustomers(
	ctx context.Context, in *shoppb.GetCustomersRequest,
) (*shoppb.GetCustomersResponse, error) {
	return c.client.GetCustomers(ctx, in)
}

// RegisterInventory serves a component's calls on a binding.
func RegisterInventory(binding grpc.ServiceRegistrar, component shop.Inventory) {
	shoppb.RegisterInventoryServer(binding, struct {
		shop.Inventory
		shoppb.UnsafeInventoryServer
	}{Inventory: component})
}

// NewInventory returns the component at the other end of a binding.
func NewInventory(binding grpc.ClientConnInterface) shop.Inventory {
	return inventory{shoppb.NewInventoryClient(binding)}
}

type inventory struct{ client shoppb.InventoryClient }

func (c inventory) Reserve(ctx context.Context, in *shoppb.ReserveRequest) (*shoppb.StepResponse, error) {
	return c.client.Reserve(ctx, in)
}

func (c inventory) Commit(ctx context.Context, in *shoppb.StepRequest) (*shoppb.StepResponse, error) {
	return c.client.Commit(ctx, in)
}

func (c inventory) Release(ctx context.Context, in *shoppb.StepRequest) (*shoppb.StepResponse, error) {
	return c.client.Release(ctx, in)
}

func (c inventory) Restock(ctx context.Context, in *shoppb.StepRequest) (*shoppb.StepResponse, error) {
	return c.client.Restock(ctx, in)
}

// RegisterPayments serves a component's calls on a binding.
func RegisterPayments(binding grpc.ServiceRegistrar, component shop.Payments) {
	shoppb.RegisterPaymentsServer(binding, struct {
		shop.Payments
		shoppb.UnsafePaymentsServer
	}{Payments: component})
}

// NewPayments returns the component at the other end of a binding.
func NewPayments(binding grpc.ClientConnInterface) shop.Payments {
	return payments{shoppb.NewPaymentsClient(binding)}
}

type payments struct{ client shoppb.PaymentsClient }

func (c payments) Authorise(ctx context.Context, in *shoppb.AuthoriseRequest) (*shoppb.StepResponse, error) {
	return c.client.Authorise(ctx, in)
}

func (c payments) Capture(ctx context.Context, in *shoppb.StepRequest) (*shoppb.StepResponse, error) {
	return c.client.Capture(ctx, in)
}

func (c payments) Charge(ctx context.Context, in *shoppb.AuthoriseRequest) (*shoppb.StepResponse, error) {
	return c.client.Charge(ctx, in)
}

func (c payments) Void(ctx context.Context, in *shoppb.StepRequest) (*shoppb.StepResponse, error) {
	return c.client.Void(ctx, in)
}

func (c payments) Refund(ctx context.Context, in *shoppb.StepRequest) (*shoppb.StepResponse, error) {
	return c.client.Refund(ctx, in)
}

func (c payments) GetAccount(ctx context.Context, in *shoppb.GetAccountRequest) (*shoppb.Account, error) {
	return c.client.GetAccount(ctx, in)
}

// RegisterShipping serves a component's calls on a binding.
func RegisterShipping(binding grpc.ServiceRegistrar, component shop.Shipping) {
	shoppb.RegisterShippingServer(binding, struct {
		shop.Shipping
		shoppb.UnsafeShippingServer
	}{Shipping: component})
}

// NewShipping returns the component at the other end of a binding.
func NewShipping(binding grpc.ClientConnInterface) shop.Shipping {
	return shipping{shoppb.NewShippingClient(binding)}
}

type shipping struct{ client shoppb.ShippingClient }

func (c shipping) Ship(ctx context.Context, in *shoppb.ShipRequest) (*shoppb.Shipment, error) {
	return c.client.Ship(ctx, in)
}

func (c shipping) Recall(ctx context.Context, in *shoppb.StepRequest) (*shoppb.StepResponse, error) {
	return c.client.Recall(ctx, in)
}

func (c shipping) GetShipment(ctx context.Context, in *shoppb.GetShipmentRequest) (*shoppb.Shipment, error) {
	return c.client.GetShipment(ctx, in)
}

// RegisterOrders serves a component's calls on a binding.
func RegisterOrders(binding grpc.ServiceRegistrar, component shop.Orders) {
	shoppb.RegisterOrdersServer(binding, struct {
		shop.Orders
		shoppb.UnsafeOrdersServer
	}{Orders: component})
}

// NewOrders returns the component at the other end of a binding.
func NewOrders(binding grpc.ClientConnInterface) shop.Orders {
	return orders{shoppb.NewOrdersClient(binding)}
}

type orders struct{ client shoppb.OrdersClient }

func (c orders) CreateOrder(
	ctx context.Context, in *shoppb.CreateOrderRequest,
) (*shoppb.CreateOrderResponse, error) {
	return c.client.CreateOrder(ctx, in)
}

func (c orders) CancelOrder(ctx context.Context, in *shoppb.CancelOrderRequest) (*shoppb.Order, error) {
	return c.client.CancelOrder(ctx, in)
}

// RegisterOrderViews serves a component's calls on a binding.
func RegisterOrderViews(binding grpc.ServiceRegistrar, component shop.OrderViews) {
	shoppb.RegisterOrderViewsServer(binding, struct {
		shop.OrderViews
		shoppb.UnsafeOrderViewsServer
	}{OrderViews: component})
}

// NewOrderViews returns the component at the other end of a binding.
func NewOrderViews(binding grpc.ClientConnInterface) shop.OrderViews {
	return orderViews{shoppb.NewOrderViewsClient(binding)}
}

type orderViews struct{ client shoppb.OrderViewsClient }

func (c orderViews) GetOrder(ctx context.Context, in *shoppb.GetOrderRequest) (*shoppb.Order, error) {
	return c.client.GetOrder(ctx, in)
}

func (c orderViews) ListOrders(ctx context.Context, in *shoppb.ListOrdersRequest) (*shoppb.OrderPage, error) {
	return c.client.ListOrders(ctx, in)
}

// RegisterStockViews serves a component's calls on a binding.
func RegisterStockViews(binding grpc.ServiceRegistrar, component shop.StockViews) {
	shoppb.RegisterStockViewsServer(binding, struct {
		shop.StockViews
		shoppb.UnsafeStockViewsServer
	}{StockViews: component})
}

// NewStockViews returns the component at the other end of a binding.
func NewStockViews(binding grpc.ClientConnInterface) shop.StockViews {
	return stockViews{shoppb.NewStockViewsClient(binding)}
}

type stockViews struct{ client shoppb.StockViewsClient }

func (c stockViews) GetStock(ctx context.Context, in *shoppb.GetStockRequest) (*shoppb.Stock, error) {
	return c.client.GetStock(ctx, in)
}
