-- The saga of each order, which the orders drive over the broker. state: the command that
-- has no reply yet (reserving, charging, committing, shipping or, to undo, releasing or
-- recalling, restocking, refunding), or its end (confirmed, rejected, undone). journal:
-- the states of a row, each with its time.
CREATE TABLE IF NOT EXISTS sagas (
  order_id {id} NOT NULL,
  state    {word} NOT NULL,
  journal  {journal} NOT NULL,
  PRIMARY KEY (order_id)
){keyed};
