-- version rises by 1 with every change of a row, so that events about it can be sorted.
CREATE TABLE IF NOT EXISTS stock (
  product_id {number} PRIMARY KEY,
  on_hand    BIGINT NOT NULL CHECK (on_hand >= 0),
  reserved   BIGINT NOT NULL CHECK (reserved >= 0),
  sold       BIGINT NOT NULL CHECK (sold >= 0),
  version    BIGINT NOT NULL DEFAULT 0
){rows};
-- All lines of an order have the same state: reserved, committed, released or
-- restocked. An order that was released before it came has one line of product 0.
-- journal: the states of a row, each with its time.
CREATE TABLE IF NOT EXISTS reservations (
  order_id   {id} NOT NULL,
  line       INTEGER NOT NULL,
  product_id BIGINT NOT NULL,
  quantity   BIGINT NOT NULL CHECK (quantity >= 0),
  state      {word} NOT NULL,
  journal    {journal} NOT NULL,
  PRIMARY KEY (order_id, line)
){keyed};
