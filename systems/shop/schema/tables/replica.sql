-- What the orders know of catalog and customers without asking them. version is that of
-- the catalog's row: what is older never replaces it.
CREATE TABLE IF NOT EXISTS known_products (
  product_id  {number} PRIMARY KEY,
  name        {name} NOT NULL,
  price_cents BIGINT NOT NULL CHECK (price_cents > 0),
  version     BIGINT NOT NULL
){rows};
CREATE TABLE IF NOT EXISTS known_customers (
  customer_id {number} PRIMARY KEY,
  name        {name} NOT NULL,
  address     {name} NOT NULL
){rows};
