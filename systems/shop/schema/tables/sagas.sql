-- One saga for each order, which package brokered drives over the broker. state: the command
-- that has no reply yet, or the end of the saga. A new order: reserving, charging,
-- committing, shipping, confirmed. After refused stock: rejected. After a declined payment:
-- releasing, rejected. After a cancellation: recalling, restocking, refunding, undone.
-- journal: the states of a row, each with its time.
CREATE TABLE IF NOT EXISTS sagas (
  order_id {id} NOT NULL,
  state    {word} NOT NULL,
  journal  {journal} NOT NULL,
  PRIMARY KEY (order_id)
){keyed};
