"""psycopg 3: both commit modes, prepared statements, binary, server cursors, COPY, cancel."""

import datetime
import decimal
import sys
import threading
import time
import uuid

import psycopg
from psycopg import errors, sql
from psycopg.rows import dict_row

DSN = f"host=127.0.0.1 port={sys.argv[1]} user=ann dbname=halite"
NOW = datetime.datetime(2024, 3, 15, 10, 0, 0, 123000, tzinfo=datetime.timezone.utc)
ROW = ("k1", 7, 1.5, decimal.Decimal("12.50"), True, b"\x00\xff", uuid.UUID(int=5), NOW,
       datetime.date(2024, 2, 29))
COLUMNS = "k, n, f, d, b, y, u, ts, day"


def refused(state, work):
    """Checks that work fails with a state."""
    try:
        work()
    except psycopg.Error as error:
        assert error.sqlstate == state, (error.sqlstate, state, error)
        return
    raise AssertionError(f"no error {state}")


def values(connection):
    marks = ", ".join(["%s"] * len(ROW))
    connection.execute(f"INSERT INTO p ({COLUMNS}) VALUES ({marks})", ROW)
    for is_binary in (False, True):
        with connection.cursor(binary=is_binary) as cursor:
            cursor.execute(f"SELECT {COLUMNS} FROM p WHERE k = %s", ("k1",))
            found = cursor.fetchone()
            assert found == ROW, (is_binary, found)
    # After five runs the statement is prepared at the server.
    for n in range(8):
        found = connection.execute("SELECT n FROM p WHERE k = %s AND n < %s", ("k1", 100 + n))
        assert found.fetchall() == [(7,)]
    with connection.cursor(row_factory=dict_row) as cursor:
        cursor.execute("SELECT k, n AS number FROM p")
        assert cursor.fetchall() == [{"k": "k1", "number": 7}]
    assert connection.execute("UPDATE p SET n = 8 WHERE k = 'k1'").rowcount == 1
    assert connection.execute("UPDATE p SET n = 8 WHERE k = 'none'").rowcount == 0
    returned = connection.execute("UPSERT INTO p (k, n) VALUES ('k2', NULL) RETURNING k, n")
    assert returned.fetchall() == [("k2", None)]
    with connection.cursor() as cursor:
        rows = [(f"many{n:03}", n) for n in range(100)]
        cursor.executemany("INSERT INTO p (k, n) VALUES (%s, %s)", rows)
        assert cursor.rowcount == 100, cursor.rowcount
    with connection.pipeline():
        found = [connection.execute("SELECT n FROM p WHERE k = %s", (f"many{n:03}",))
                 for n in range(3)]
    assert [one.fetchone() for one in found] == [(0,), (1,), (2,)]


def errors_of_statements(connection):
    refused("42P01", lambda: connection.execute("SELECT * FROM nothing"))
    refused("42601", lambda: connection.execute("SELEC 1"))
    refused("23505", lambda: connection.execute("INSERT INTO p (k) VALUES ('k1')"))
    refused("22P02", lambda: connection.execute("SELECT 'x'::bigint"))
    try:
        connection.execute("SELECT n,\n nothing FROM p")
    except errors.UndefinedColumn as error:
        assert "nothing" in str(error), error


def transactions():
    with psycopg.connect(DSN) as connection:
        assert connection.execute("SELECT count(*) FROM p").fetchone() == (102,)
        refused("0A000", lambda: connection.execute("DELETE FROM p"))
        connection.rollback()
        with connection.transaction():
            assert connection.execute("SELECT 1").fetchone() == (1,)
            try:
                with connection.transaction():
                    connection.execute("SELECT nothing")
            except errors.UndefinedColumn:
                pass
            assert connection.execute("SELECT 2").fetchone() == (2,)
        # A cursor of the server, which takes rows in parts.
        with connection.cursor(name="part") as cursor:
            cursor.itersize = 10
            cursor.execute("SELECT n FROM p WHERE k >= 'many' ORDER BY k")
            assert [row[0] for row in cursor] == list(range(100))
    with psycopg.connect(DSN, options="-c halite.transactions=statement") as connection:
        connection.execute("UPSERT INTO p (k, n) VALUES ('t', 1)")


def copy(connection):
    with connection.cursor() as cursor:
        with cursor.copy("COPY p (k, n) FROM STDIN") as rows:
            for n in range(2000):
                rows.write_row((f"copied{n:04}\t\\", n if n % 2 else None))
        assert cursor.rowcount == 2000, cursor.rowcount
        name = sql.Identifier("p")
        query = sql.SQL("COPY (SELECT k, n FROM {} WHERE k >= 'copied' AND k < 'd' "
                        "ORDER BY k LIMIT 3) TO STDOUT").format(name)
        with cursor.copy(query) as rows:
            found = list(rows.rows())
        assert found == [("copied0000\t\\", None), ("copied0001\t\\", "1"),
                         ("copied0002\t\\", None)], found
        with cursor.copy("COPY (SELECT k, n FROM p WHERE k = 'k1') TO STDOUT (FORMAT BINARY)") as rows:
            rows.set_types(["text", "int8"])
            assert list(rows.rows()) == [("k1", 8)]
        with cursor.copy("COPY p (k, n, ts) FROM STDIN (FORMAT BINARY)") as rows:
            rows.set_types(["text", "int8", "timestamptz"])
            rows.write_row(("binary1", 5, NOW))
            rows.write_row(("binary2", None, None))
        found = cursor.execute("SELECT k, n, ts FROM p WHERE k >= 'binary' AND k < 'c'").fetchall()
        assert found == [("binary1", 5, NOW), ("binary2", None, None)], found
        try:
            with cursor.copy("COPY p (k, n) FROM STDIN") as rows:
                rows.write(b"bad1\t1\nbad2\tx\n")
            raise AssertionError("a bad line was taken")
        except errors.InvalidTextRepresentation as error:
            assert "line 2, column n" in str(error), error
        assert cursor.execute("SELECT k FROM p WHERE k LIKE 'bad%'").fetchall() == [("bad1",)]
        try:
            with cursor.copy("COPY p (k, n) FROM STDIN"):
                raise ZeroDivisionError
        except ZeroDivisionError:
            pass
        assert cursor.execute("SELECT 1").fetchone() == (1,)


def cancel(connection):
    # As many triples as take minutes.
    heavy = ("SELECT count(*) FROM p AS a, p AS b, p AS c "
             "WHERE coalesce(a.n, 0) + coalesce(b.n, 0) + coalesce(c.n, 0) < -1")
    threading.Timer(0.3, connection.cancel_safe).start()
    started = time.monotonic()
    refused("57014", lambda: connection.execute(heavy))
    connection.execute("SET statement_timeout = '300ms'")
    refused("57014", lambda: connection.execute(heavy))
    assert time.monotonic() - started < 120
    connection.execute("RESET statement_timeout")


def main():
    with psycopg.connect(DSN, autocommit=True) as connection:
        connection.execute(
            "CREATE TABLE p (n BIGINT, f DOUBLE, d DECIMAL, b BOOL, y BYTES, u UUID, ts TIMESTAMP, "
            "day DATE, ROW KEY (k STRING))")
        values(connection)
        errors_of_statements(connection)
        transactions()
        copy(connection)
        cancel(connection)


main()
