// node-postgres: parameters, prepared statements, types, errors with places, cursors by text.

const assert = require("node:assert");
const { Client, Pool } = require("pg");

const where = { host: "127.0.0.1", port: Number(process.argv[2]), user: "ann", database: "halite" };

async function main() {
  const client = new Client(where);
  await client.connect();
  await client.query("CREATE TABLE p (n BIGINT, i INT, f DOUBLE, b BOOL, y BYTES, ts TIMESTAMP, "
    + "ROW KEY (k STRING))");
  const at = new Date("2024-03-15T10:00:00.123Z");
  const values = ["k1", "9007199254740993", 7, 1.5, true, Buffer.from([0, 255]), at];
  const inserted = await client.query(
    "INSERT INTO p (k, n, i, f, b, y, ts) VALUES ($1, $2, $3, $4, $5, $6, $7)", values);
  assert.strictEqual(inserted.rowCount, 1);
  const row = (await client.query("SELECT k, n, i, f, b, y, ts FROM p WHERE k = $1", ["k1"])).rows[0];
  assert.deepStrictEqual(Object.values(row), values);
  for (let run = 0; run < 3; run++) {
    const query = { name: "by key", text: "SELECT i FROM p WHERE k = $1 AND i < $2",
      values: ["k1", 100 + run], rowMode: "array" };
    assert.deepStrictEqual((await client.query(query)).rows, [[7]]);
  }
  const updated = await client.query("UPDATE p SET i = i + 1 WHERE k = $1 RETURNING i", ["k1"]);
  assert.deepStrictEqual(updated.rows, [{ i: 8 }]);
  const several = await client.query("SELECT 1 AS one; SELECT 2 AS two");
  assert.deepStrictEqual(several.map((one) => one.rows), [[{ one: 1 }], [{ two: 2 }]].map(
    (rows) => rows.map((one) => Object.fromEntries(
      Object.entries(one).map(([name, number]) => [name, String(number)])))));
  for (const [text, code, position] of [
    ["SELECT nothing FROM p", "42703", "8"],
    ["SELECT * FROM nothing", "42P01", "15"],
    ["INSERT INTO p (k) VALUES ('k1')", "23505", undefined],
  ]) {
    await assert.rejects(client.query(text), (error) => {
      assert.strictEqual(error.code, code, error.message);
      assert.strictEqual(error.position, position, text);
      return true;
    });
  }
  await client.end();
  const pool = new Pool({ ...where, max: 4 });
  const counts = await Promise.all(Array.from({ length: 20 }, (_, n) =>
    pool.query("SELECT $1::int AS n", [n])));
  assert.deepStrictEqual(counts.map((one) => one.rows[0].n), Array.from({ length: 20 }, (_, n) => n));
  await pool.end();
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
