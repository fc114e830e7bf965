CREATE TABLE IF NOT EXISTS customers (
  customer_id {number} PRIMARY KEY,
  name        {name} NOT NULL,
  email       {name} NOT NULL,
  address     {name} NOT NULL
){rows};
