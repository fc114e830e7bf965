-- state: shipped or recalled. A shipment that was recalled before it came has no
-- recipient.
CREATE TABLE IF NOT EXISTS shipments (
  order_id  {id} NOT NULL,
  recipient {name} NOT NULL,
  address   {name} NOT NULL,
  state     {word} NOT NULL,
  PRIMARY KEY (order_id)
){keyed};
