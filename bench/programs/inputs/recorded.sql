-- A shop: rows inserted, indexed, joined, grouped, updated, searched as text, read back as JSON.
create table customer(id integer primary key, name text not null, city text, since int);
create table item(id integer primary key, label text, price real, stock int);
create table sale(id integer primary key, customer int references customer, item int, amount int, day int);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 400)
insert into customer select i, 'customer ' || hex(i * 7919), substr('LondonParisRomeOslo', i % 15, 5), 1990 + i % 30 from n;
with recursive n(i) as (select 1 union all select i + 1 from n where i < 300)
insert into item select i, printf('item %04d %s', i, lower(hex(i * i))), i * 1.25, i % 40 from n;
with recursive n(i) as (select 1 union all select i + 1 from n where i < 4000)
insert into sale select i, 1 + i * 7919 % 400, 1 + i * 104729 % 300, 1 + i % 5, i % 365 from n;
create index sale_customer on sale(customer, day);
create index item_label on item(label);
analyze;
select city, count(*), sum(amount * price), max(day) from sale
    join customer on customer.id = sale.customer join item on item.id = sale.item
    group by city order by 3 desc;
select name, total from (select customer, sum(amount) total from sale group by customer having total > 20)
    join customer on customer.id = customer order by total desc, name limit 20;
select count(*) from item where label like '%a%' and price between 20 and 300;
select label from item where label >= 'item 0100' and label < 'item 0110';
update item set stock = stock - (select coalesce(sum(amount), 0) from sale where sale.item = item.id and day < 60);
delete from sale where day > 300 and amount < 3;
select count(*), sum(stock) from item where stock < 0;
select json_group_array(json_object('id', id, 'name', name, 'year', since)) from customer where id < 60;
select sum(json_extract(value, '$.a')) from json_each('[{"a":1},{"a":2.5},{"a":3,"b":[1,2,{"c":4}]}]');
select day, amount, sum(amount) over (partition by day % 7 order by id rows 5 preceding) from sale where id < 200;
select group_concat(distinct upper(substr(name, 10, 3))) from customer where since in (1991, 1995, 2001);
begin;
insert into sale select id + 10000, customer, item, amount, day from sale where id % 2 = 0;
rollback;
select count(*), avg(amount), min(day) from sale where customer in (select id from customer where city like 'Par%');
pragma integrity_check;
