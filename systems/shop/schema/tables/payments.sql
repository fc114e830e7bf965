CREATE TABLE IF NOT EXISTS accounts (
  customer_id   {number} PRIMARY KEY,
  balance_cents BIGINT NOT NULL CHECK (balance_cents >= 0)
){rows};
-- state: captured, voided or refunded. A payment that was voided before it came has
-- customer 0 and amount 0. journal: the states of a row, each with its time.
CREATE TABLE IF NOT EXISTS payments (
  order_id     {id} NOT NULL,
  customer_id  BIGINT NOT NULL,
  amount_cents BIGINT NOT NULL CHECK (amount_cents >= 0),
  state        {word} NOT NULL,
  journal      {journal} NOT NULL,
  PRIMARY KEY (order_id)
){keyed};
