-- What recorded.sql does not do: graphs by recursion, triggers and views, upserts, a table without
-- rowids, compound selects, outer joins, dates, string functions and a sort that has no index.
create table edge(a int, b int, weight int, primary key(a, b)) without rowid;
with recursive n(i) as (select 0 union all select i + 1 from n where i < 1500)
insert or ignore into edge select i % 120, (i * 37 + 11) % 120, i * 13 % 50 from n;
with recursive reach(node, depth) as
    (select 0, 0 union select b, depth + 1 from reach join edge on a = node where depth < 6)
select depth, count(distinct node) from reach group by depth;
create table note(id integer primary key, body text, words int default 0, changed text);
create table history(note int, old text, new text);
create trigger changes after update of body on note begin
    insert into history values (old.id, old.body, new.body);
    update note set changed = datetime('2020-01-01', '+' || new.id || ' hours') where id = new.id;
end;
create view long_note as select id, body, length(body) size from note where length(body) > 20;
with recursive n(i) as (select 1 union all select i + 1 from n where i < 600)
insert into note(id, body) select i, replace('the cat sat on mat ' || i, 'a', char(97 + i % 26)) from n;
update note set body = trim(body) || ' again' where id % 3 = 0;
update note set words = length(body) - length(replace(body, ' ', '')) + 1;
select count(*), sum(size), max(body) from long_note;
select strftime('%Y-%m', changed) month, count(*) from note where changed is not null group by month;
create table counter(name text unique, times int);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 2500)
insert into counter select 'key' || (i * i % 211), 1 from n where true
    on conflict(name) do update set times = times + 1;
select * from counter order by times desc, name limit 10;
select id from note where id < 300 except select b from edge union select a from edge where weight > 45 order by 1 limit 40;
select count(*) from note left join edge on edge.a = note.id and edge.weight < 10 where edge.b is null;
select a.id, b.id from note a, note b where a.id < b.id and a.body = b.body limit 5;
select instr(body, 'sat'), abs(id - 300), round(id / 7.0, 2), typeof(words), quote(body) from note where id % 50 = 0;
select case when id % 15 = 0 then 'both' when id % 5 = 0 then 'five' else cast(id as text) end k, count(*)
    from note where body glob '*[b-f]t*' group by k order by 2 desc, 1 limit 8;
select body from note order by substr(body, 5) desc, id limit 15 offset 30;
with recursive fibonacci(x, y) as (select 0, 1 union all select y, x + y from fibonacci where y < 1e15)
select max(y), count(*), sum(x % 97) from fibonacci;
select rank() over (order by times desc), lag(name) over (order by name), ntile(4) over (order by times) from counter limit 30;
