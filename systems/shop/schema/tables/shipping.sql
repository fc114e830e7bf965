-- state: shipped or recalled. A shipment that was recalled before it came has no
-- recipient. journal: the states of a row, each with its time.
CREATE TABLE IF NOT EXISTS shipments (
  order_id  {id} NOT NULL,
  recipient {name} NOT NULL,
  address   {name} NOT NULL,
  state     {word} NOT NULL,
  journal   {journal} NOT NULL,
  PRIMARY KEY (order_id)
){keyed};
