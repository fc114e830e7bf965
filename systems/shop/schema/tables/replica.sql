-- What the orders know of catalog and customers without asking them.
CREATE TABLE IF NOT EXISTS known_products (
  product_id  {number} PRIMARY KEY,
  name        {name} NOT NULL,
  price_cents BIGINT NOT NULL CHECK (price_cents > 0)
){rows};
CREATE TABLE IF NOT EXISTS known_customers (
  customer_id {number} PRIMARY KEY,
  name        {name} NOT NULL,
  address     {name} NOT NULL
){rows};
