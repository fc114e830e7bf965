-- search_name is the name in lower case: searching by prefix is a range of it.
CREATE TABLE IF NOT EXISTS products (
  product_id  {number} PRIMARY KEY,
  name        {name} NOT NULL,
  search_name {name} NOT NULL,
  price_cents BIGINT NOT NULL CHECK (price_cents > 0)
){rows};
CREATE INDEX IF NOT EXISTS products_by_name ON products (search_name, product_id);
