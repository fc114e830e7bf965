-- version rises by 1 with every change of the price, and prices keeps each but the
-- first, with the moment of its change in microseconds since 1970.
-- search_name is the name in lower case: searching by prefix is a range of it.
CREATE TABLE IF NOT EXISTS products (
  product_id  {number} PRIMARY KEY,
  name        {name} NOT NULL,
  search_name {name} NOT NULL,
  price_cents BIGINT NOT NULL CHECK (price_cents > 0),
  version     BIGINT NOT NULL
){rows};
CREATE TABLE IF NOT EXISTS prices (
  product_id  {number} NOT NULL,
  version     BIGINT NOT NULL,
  price_cents BIGINT NOT NULL CHECK (price_cents > 0),
  changed_us  BIGINT NOT NULL,
  PRIMARY KEY (product_id, version)
){keyed};
CREATE INDEX IF NOT EXISTS products_by_name ON products (search_name, product_id);
