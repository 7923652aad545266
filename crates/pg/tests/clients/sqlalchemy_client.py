"""SQLAlchemy 2: the reflection of tables, and statements of its expression language."""

import sys

import sqlalchemy as sa

engine = sa.create_engine(
    f"postgresql+psycopg://ann@127.0.0.1:{sys.argv[1]}/halite", isolation_level="AUTOCOMMIT")
with engine.connect() as connection:
    connection.exec_driver_sql(
        "CREATE TABLE readings (v DOUBLE, note STRING, ROW KEY (device STRING, ts TIMESTAMP))")

inspector = sa.inspect(engine)
assert "readings" in inspector.get_table_names(), inspector.get_table_names()
assert "public" in inspector.get_schema_names(), inspector.get_schema_names()
columns = {column["name"]: column for column in inspector.get_columns("readings")}
assert list(columns) == ["device", "ts", "v", "note"], columns
assert isinstance(columns["v"]["type"], sa.Double), columns["v"]
assert isinstance(columns["ts"]["type"], sa.DateTime) and columns["ts"]["type"].timezone
assert not columns["device"]["nullable"] and columns["note"]["nullable"]
assert inspector.get_pk_constraint("readings")["constrained_columns"] == ["device", "ts"]
assert inspector.get_foreign_keys("readings") == []
inspector.get_indexes("readings")
inspector.get_unique_constraints("readings")
inspector.get_check_constraints("readings")
assert inspector.get_table_comment("readings")["text"] is None
assert inspector.get_view_names() == []

table = sa.Table("readings", sa.MetaData(), autoload_with=engine)
with engine.connect() as connection:
    rows = [{"device": f"d{n % 3}", "ts": f"2024-03-15 10:00:{n:02}+00", "v": n / 2} for n in range(9)]
    connection.execute(table.insert(), rows)
    query = sa.select(table.c.device, sa.func.count(), sa.func.max(table.c.v))
    query = query.group_by(table.c.device).order_by(table.c.device)
    assert connection.execute(query).all() == [("d0", 3, 3.0), ("d1", 3, 3.5), ("d2", 3, 4.0)]
    where = sa.and_(table.c.device == "d1", table.c.v > 1)
    found = connection.execute(sa.select(table.c.v).where(where).order_by(table.c.ts).limit(1))
    assert found.scalars().all() == [2.0]
    assert connection.execute(table.update().where(where).values(note="x")).rowcount == 2
    assert connection.execute(table.delete().where(table.c.device == "d0")).rowcount == 3
    assert connection.scalar(sa.select(sa.func.count()).select_from(table)) == 6
engine.dispose()
