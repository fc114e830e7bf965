-- The sagas that are not done yet. Who works on one holds its lease.
CREATE TABLE IF NOT EXISTS sagas (
  order_id       {id} NOT NULL,
  goal           {word} NOT NULL,
  reason_kind    {key} NOT NULL,
  reason_detail  {name} NOT NULL,
  lease_until_us BIGINT NOT NULL,
  PRIMARY KEY (order_id)
){keyed};
CREATE INDEX IF NOT EXISTS sagas_by_lease ON sagas (lease_until_us);
