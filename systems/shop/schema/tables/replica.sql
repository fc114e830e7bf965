-- The orders' copy of the catalog and the customers. version is that of the catalog's
-- row: an older one never replaces a newer one.
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
