-- How far the saga of each order has come that the orders drive over the broker. state:
-- the command that has no reply yet (reserving, charging, committing, shipping or, to undo,
-- releasing or recalling, restocking, refunding), or how the saga ended (confirmed, rejected,
-- undone). journal: the states that a row came into, each with its moment.
CREATE TABLE IF NOT EXISTS sagas (
  order_id {id} NOT NULL,
  state    {word} NOT NULL,
  journal  {journal} NOT NULL,
  PRIMARY KEY (order_id)
){keyed};
