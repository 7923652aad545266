// pgx: the binary protocol, prepared statements, batches, COPY, pools and errors.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

func check(holds bool, what ...any) {
	if !holds {
		fmt.Fprintln(os.Stderr, what...)
		os.Exit(1)
	}
}

func done(err error) {
	check(err == nil, err)
}

func state(err error) string {
	var of *pgconn.PgError
	if errors.As(err, &of) {
		return of.Code
	}
	return fmt.Sprint(err)
}

func values(ctx context.Context, conn *pgx.Conn) {
	at := time.Date(2024, 3, 15, 10, 0, 0, 123000000, time.UTC)
	tag, err := conn.Exec(ctx, "INSERT INTO p (k, n, f, b, y, ts) VALUES ($1, $2, $3, $4, $5, $6)",
		"k1", int64(7), 1.5, true, []byte{0, 255}, at)
	done(err)
	check(tag.RowsAffected() == 1, tag)
	for run := range 3 {
		var n int64
		var f float64
		var b bool
		var y []byte
		var ts time.Time
		row := conn.QueryRow(ctx, "SELECT n, f, b, y, ts FROM p WHERE k = $1 AND n < $2", "k1", 100+run)
		done(row.Scan(&n, &f, &b, &y, &ts))
		check(n == 7 && f == 1.5 && b && len(y) == 2 && ts.Equal(at), n, f, b, y, ts)
	}
	var none *int64
	done(conn.QueryRow(ctx, "UPSERT INTO p (k, n) VALUES ('k2', NULL) RETURNING n").Scan(&none))
	check(none == nil, none)
	found, err := conn.Query(ctx, "SELECT k FROM p WHERE k = ANY($1)", []string{"k1", "k2", "k3"})
	done(err)
	keys, err := pgx.CollectRows(found, pgx.RowTo[string])
	done(err)
	check(len(keys) == 2, keys)
}

func batches(ctx context.Context, conn *pgx.Conn) {
	batch := &pgx.Batch{}
	for n := range 100 {
		batch.Queue("INSERT INTO p (k, n) VALUES ($1, $2)", fmt.Sprintf("batch%03d", n), n)
	}
	batch.Queue("SELECT count(*) FROM p WHERE k >= 'batch' AND k < 'c'")
	results := conn.SendBatch(ctx, batch)
	for range 100 {
		_, err := results.Exec()
		done(err)
	}
	var count int64
	done(results.QueryRow().Scan(&count))
	check(count == 100, count)
	done(results.Close())
	rows := [][]any{}
	for n := range 1000 {
		rows = append(rows, []any{fmt.Sprintf("copied%04d", n), int64(n)})
	}
	copied, err := conn.CopyFrom(ctx, pgx.Identifier{"p"}, []string{"k", "n"}, pgx.CopyFromRows(rows))
	done(err)
	check(copied == 1000, copied)
}

func refused(ctx context.Context, conn *pgx.Conn) {
	for text, expected := range map[string]string{
		"SELEC 1":                       "42601",
		"SELECT nothing FROM p":         "42703",
		"SELECT * FROM nothing":         "42P01",
		"INSERT INTO p (k) VALUES ('k1')": "23505",
	} {
		_, err := conn.Exec(ctx, text)
		check(state(err) == expected, text, err)
	}
	// A context that ends cancels the statement, and the connection is closed.
	short, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	heavy := "SELECT count(*) FROM p AS a, p AS b, p AS c WHERE a.n + b.n + c.n < -1"
	began := time.Now()
	_, err := conn.Exec(short, heavy)
	check(err != nil && time.Since(began) < 2*time.Minute, err)
}

func main() {
	ctx := context.Background()
	url := fmt.Sprintf("postgres://ann@127.0.0.1:%s/halite?sslmode=disable", os.Args[1])
	conn, err := pgx.Connect(ctx, url)
	done(err)
	_, err = conn.Exec(ctx, "CREATE TABLE p (n BIGINT, f DOUBLE, b BOOL, y BYTES, ts TIMESTAMP, ROW KEY (k STRING))")
	done(err)
	values(ctx, conn)
	batches(ctx, conn)
	pool, err := pgxpool.New(ctx, url)
	done(err)
	var count int64
	done(pool.QueryRow(ctx, "SELECT count(*) FROM p").Scan(&count))
	check(count == 1102, count)
	pool.Close()
	refused(ctx, conn)
}
