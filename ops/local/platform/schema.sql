-- The data of the restaurant platform whose jobs are scheduled. Amounts are whole minor units (halalas, fils, pence) of
-- the restaurant's currency; a currency has 2 or 3 of them per unit, so amounts of two currencies are never added.
-- Keys and indexes of the large tables are in indexes.sql: building them after the first load is several times faster.

create schema platform;

-- What the tables were filled from. Rows of other numbers would not fit to those already there.
create table platform.dataset (
    single boolean primary key default true check (single),
    seed text not null,
    restaurants integer not null,
    orders_per_day integer not null,
    indexed_at timestamptz
);

create table platform.loaded_days (
    day date primary key,
    orders integer not null,
    order_items integer not null,
    sessions integer not null,
    loaded_at timestamptz not null default now()
);

create table platform.restaurants (
    id integer primary key,
    name text not null,
    city text not null,
    zone text not null,
    currency text not null check (currency ~ '^[A-Z]{3}$'),
    vat_rate numeric(5, 4) not null check (vat_rate between 0 and 1),
    plan text not null check (plan in ('starter', 'growth', 'enterprise')),
    plan_fee_minor bigint not null check (plan_fee_minor >= 0),
    commission_rate numeric(5, 4) not null check (commission_rate between 0 and 1),
    opens time not null,
    closes time not null,
    opened_on date not null,
    closed_on date check (closed_on > opened_on)
);

comment on column platform.restaurants.plan_fee_minor is 'subscription per day, without VAT';
comment on column platform.restaurants.commission_rate is 'share of the net value of delivered orders';
comment on column platform.restaurants.closes is 'local; at or before opens: on the next day';
comment on column platform.restaurants.closed_on is 'first day the restaurant was no longer a customer';

create table platform.stock (
    id integer primary key,
    restaurant_id integer not null references platform.restaurants,
    name text not null,
    price_minor bigint not null check (price_minor > 0),
    on_hand integer not null check (on_hand >= 0),
    reorder_at integer not null check (reorder_at >= 0),
    unique (restaurant_id, name)
);

create table platform.orders (
    id bigint not null,
    restaurant_id integer not null,
    status text not null check (status in ('placed', 'delivered', 'cancelled', 'refunded')),
    placed_at timestamptz not null,
    delivered_at timestamptz check (delivered_at >= placed_at),
    cancelled_at timestamptz check (cancelled_at >= placed_at),
    refunded_at timestamptz check (refunded_at >= delivered_at),
    subtotal_minor bigint not null check (subtotal_minor > 0),
    discount_minor bigint not null check (discount_minor between 0 and subtotal_minor),
    vat_minor bigint not null check (vat_minor >= 0),
    tip_minor bigint not null check (tip_minor >= 0),
    refunded_minor bigint not null check (refunded_minor between 0 and subtotal_minor - discount_minor),
    net_minor bigint not null generated always as (subtotal_minor - discount_minor) stored,
    total_minor bigint not null generated always as (subtotal_minor - discount_minor + vat_minor + tip_minor) stored,
    check ((status in ('delivered', 'refunded')) = (delivered_at is not null)),
    check ((status = 'cancelled') = (cancelled_at is not null)),
    check ((status = 'refunded') = (refunded_at is not null)),
    check ((status = 'refunded') = (refunded_minor > 0))
);

comment on column platform.orders.refunded_minor is 'the part of net_minor that was paid back';

create table platform.order_items (
    order_id bigint not null,
    line smallint not null,
    item_id integer not null,
    quantity smallint not null check (quantity > 0),
    price_minor bigint not null check (price_minor > 0)
);

create table platform.sessions (
    id bigint not null,
    restaurant_id integer not null,
    device text not null check (device in ('guest', 'till', 'kitchen')),
    started_at timestamptz not null,
    ended_at timestamptz check (ended_at >= started_at)
);

comment on column platform.sessions.ended_at is 'null while the session is live';

create table platform.invoices (
    restaurant_id integer references platform.restaurants,
    day date,
    currency text not null,
    delivered_orders integer not null,
    sales_minor bigint not null,
    refunds_minor bigint not null,
    plan_fee_minor bigint not null,
    commission_minor bigint not null,
    vat_minor bigint not null,
    total_minor bigint not null generated always as (plan_fee_minor + commission_minor + vat_minor) stored,
    primary key (restaurant_id, day)
);

create index invoices_by_day on platform.invoices (day);

create table platform.daily_reports (
    restaurant_id integer references platform.restaurants,
    day date,
    orders integer not null,
    cancelled_share numeric(5, 4) not null,
    revenue_minor bigint not null,
    average_basket_minor bigint not null,
    refunds_minor bigint not null,
    top_item_id integer references platform.stock,
    busiest_hour smallint check (busiest_hour between 0 and 23),
    sessions integer not null,
    primary key (restaurant_id, day)
);

comment on column platform.daily_reports.day is 'a day of the restaurant''s own zone';
comment on column platform.daily_reports.busiest_hour is 'local hour with most orders; null without orders';
