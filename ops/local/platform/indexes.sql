-- Keys and indexes of the tables that the first load fills.

alter table platform.orders add primary key (id);
alter table platform.order_items add primary key (order_id, line);
alter table platform.sessions add primary key (id);

create index orders_by_placing on platform.orders (restaurant_id, placed_at);
create index orders_by_delivery on platform.orders (restaurant_id, delivered_at) where delivered_at is not null;
create index orders_by_refund on platform.orders (restaurant_id, refunded_at) where refunded_at is not null;
create index sessions_by_start on platform.sessions (restaurant_id, started_at);
create index sessions_by_end on platform.sessions (ended_at) where ended_at is not null;

alter table platform.orders add foreign key (restaurant_id) references platform.restaurants;
alter table platform.order_items add foreign key (order_id) references platform.orders;
alter table platform.order_items add foreign key (item_id) references platform.stock;
alter table platform.sessions add foreign key (restaurant_id) references platform.restaurants;
