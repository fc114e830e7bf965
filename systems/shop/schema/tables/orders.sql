-- Ids rise with time, so that a customer's newest orders are the last ones. Until
-- lease_until_us only one coordinator works on the order (NULL: it has no lease). A
-- pending order with a rejection_kind is being undone. journal: the states of a row, each
-- with its time; also "turned", when a rejection was decided, and "undone", when all steps
-- of a cancelled order were compensated.
CREATE TABLE IF NOT EXISTS orders (
  order_id         {id} NOT NULL,
  idempotency_key  {key} NOT NULL,
  customer_id      BIGINT NOT NULL,
  total_cents      BIGINT NOT NULL CHECK (total_cents >= 0),
  state            {word} NOT NULL,
  rejection_kind   {key} NOT NULL,
  rejection_detail {name} NOT NULL,
  version          BIGINT NOT NULL,
  created_unix_us  BIGINT NOT NULL,
  lease_until_us   BIGINT,
  journal          {journal} NOT NULL,
  PRIMARY KEY (order_id)
){keyed};
CREATE UNIQUE INDEX IF NOT EXISTS orders_by_key ON orders (idempotency_key);
CREATE INDEX IF NOT EXISTS orders_by_customer ON orders (customer_id, order_id);
CREATE INDEX IF NOT EXISTS orders_by_lease ON orders (lease_until_us);
CREATE TABLE IF NOT EXISTS order_lines (
  order_id         {id} NOT NULL,
  line             INTEGER NOT NULL,
  product_id       BIGINT NOT NULL,
  name             {name} NOT NULL,
  quantity         BIGINT NOT NULL CHECK (quantity > 0),
  unit_price_cents BIGINT NOT NULL CHECK (unit_price_cents >= 0),
  PRIMARY KEY (order_id, line)
){keyed};
