// pgJDBC: what DatabaseMetaData asks, as DBeaver and other tools show it, and statements with
// parameters, batches and fetch sizes.

import java.math.BigDecimal;
import java.sql.BatchUpdateException;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Types;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;

public class Pgjdbc {
    static void check(boolean holds, Object what) {
        if (!holds) {
            throw new AssertionError(what);
        }
    }

    static List<String> column(ResultSet rows, String name) throws SQLException {
        List<String> found = new ArrayList<>();
        while (rows.next()) {
            found.add(rows.getString(name));
        }
        rows.close();
        return found;
    }

    static void state(String state, String text, Statement statement) throws SQLException {
        try {
            statement.execute(text);
        } catch (SQLException error) {
            check(state.equals(error.getSQLState()), text + ": " + error);
            return;
        }
        throw new AssertionError(text + ": no error");
    }

    static void metadata(Connection connection) throws SQLException {
        DatabaseMetaData data = connection.getMetaData();
        check(data.getDatabaseProductName().equals("PostgreSQL"), data.getDatabaseProductName());
        check(data.getDatabaseMajorVersion() == 16, data.getDatabaseProductVersion());
        check(column(data.getSchemas(), "TABLE_SCHEM").contains("public"), "schemas");
        check(column(data.getCatalogs(), "TABLE_CAT").contains("halite"), "catalogs");
        check(column(data.getTableTypes(), "TABLE_TYPE").contains("TABLE"), "types of tables");
        String[] tables = {"TABLE", "PARTITIONED TABLE", "VIEW", "FOREIGN TABLE"};
        List<String> found = column(data.getTables(null, "public", "%", tables), "TABLE_NAME");
        check(found.equals(List.of("readings")), found);
        ResultSet columns = data.getColumns(null, "public", "readings", "%");
        List<String> shown = new ArrayList<>();
        while (columns.next()) {
            shown.add(columns.getString("COLUMN_NAME") + " " + columns.getString("TYPE_NAME") + " "
                + columns.getInt("DATA_TYPE") + " " + columns.getString("IS_NULLABLE"));
        }
        check(shown.equals(List.of(
            "device text " + Types.VARCHAR + " NO",
            "ts timestamptz " + Types.TIMESTAMP + " NO",
            "v float8 " + Types.DOUBLE + " YES",
            "n int8 " + Types.BIGINT + " YES",
            "d numeric " + Types.NUMERIC + " YES")), shown);
        List<String> key = column(data.getPrimaryKeys(null, "public", "readings"), "COLUMN_NAME");
        check(key.size() == 2 && key.containsAll(List.of("device", "ts")), key);
        List<String> index =
            column(data.getIndexInfo(null, "public", "readings", true, true), "COLUMN_NAME");
        check(index.equals(List.of("device", "ts")), index);
        check(column(data.getImportedKeys(null, "public", "readings"), "FK_NAME").isEmpty(), "keys");
        check(column(data.getExportedKeys(null, "public", "readings"), "FK_NAME").isEmpty(), "keys");
        List<String> types = column(data.getTypeInfo(), "TYPE_NAME");
        check(types.containsAll(List.of("int8", "text", "bytea", "timestamptz", "uuid")), types);
        column(data.getFunctions(null, "pg_catalog", "%"), "FUNCTION_NAME");
        column(data.getProcedures(null, "public", "%"), "PROCEDURE_NAME");
        column(data.getTablePrivileges(null, "public", "readings"), "PRIVILEGE");
        column(data.getColumnPrivileges(null, "public", "readings", "%"), "PRIVILEGE");
        column(data.getUDTs(null, "public", "%", null), "TYPE_NAME");
        column(data.getBestRowIdentifier(null, "public", "readings", 0, false), "COLUMN_NAME");
        column(data.getVersionColumns(null, "public", "readings"), "COLUMN_NAME");
        column(data.getClientInfoProperties(), "NAME");
        check(data.getURL() != null && data.getUserName().equals("ann"), data.getUserName());
        check(data.getMaxColumnNameLength() == 63, data.getMaxColumnNameLength());
    }

    static void writes(Connection connection) throws SQLException {
        String insert = "INSERT INTO readings (device, ts, v, n, d) VALUES (?, ?, ?, ?, ?)";
        try (PreparedStatement statement = connection.prepareStatement(insert)) {
            for (int n = 0; n < 500; n++) {
                statement.setString(1, "d" + n % 5);
                statement.setTimestamp(2, new java.sql.Timestamp(1_700_000_000_000L + n));
                statement.setDouble(3, n / 2.0);
                statement.setLong(4, n);
                statement.setBigDecimal(5, new BigDecimal("1.25"));
                statement.addBatch();
            }
            int[] counts = statement.executeBatch();
            check(counts.length == 500 && counts[0] == 1 && counts[499] == 1, counts.length);
            statement.setString(1, "d0");
            statement.setTimestamp(2, new java.sql.Timestamp(1_700_000_000_000L));
            statement.setNull(3, Types.DOUBLE);
            statement.setNull(4, Types.BIGINT);
            statement.setNull(5, Types.NUMERIC);
            statement.addBatch();
            statement.executeBatch();
            throw new AssertionError("a row that is there");
        } catch (BatchUpdateException error) {
            check("23505".equals(error.getSQLState()), error);
        }
        try (Statement statement = connection.createStatement()) {
            check(statement.executeUpdate("UPDATE readings SET n = 7 WHERE device = 'd1'") == 100, "");
            check(statement.executeUpdate("DELETE FROM readings WHERE device = 'd9'") == 0, "");
            state("42P01", "SELECT * FROM nothing", statement);
            state("42601", "SELEC 1", statement);
            state("42703", "SELECT nothing FROM readings", statement);
        }
    }

    static void reads(Connection connection) throws SQLException {
        String query = "SELECT n, d, v, ts FROM readings WHERE device = ? AND n < ? ORDER BY ts";
        try (PreparedStatement statement = connection.prepareStatement(query)) {
            // From the fifth run on it is prepared at the server.
            for (int run = 0; run < 8; run++) {
                statement.setString(1, "d0");
                statement.setLong(2, 5 * (run + 1));
                ResultSet rows = statement.executeQuery();
                int number = 0;
                while (rows.next()) {
                    check(rows.getLong("n") == 5 * number++, rows.getLong("n"));
                    check(rows.getBigDecimal("d").compareTo(new BigDecimal("1.25")) == 0, "d");
                }
                check(number == run + 1, number);
            }
            check(statement.getParameterMetaData().getParameterType(1) == Types.VARCHAR, "text");
            check(statement.getMetaData().getColumnCount() == 4, "columns");
        }
    }

    /** Rows in parts, which the driver takes within a transaction only. */
    static void parts(Connection connection) throws SQLException {
        connection.setAutoCommit(false);
        try (Statement statement = connection.createStatement()) {
            statement.setFetchSize(50);
            ResultSet rows = statement.executeQuery("SELECT n FROM readings");
            int number = 0;
            while (rows.next()) {
                number++;
            }
            check(number == 500, number);
        }
        connection.commit();
        connection.setAutoCommit(true);
    }

    static void timeouts(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.setQueryTimeout(1);
            String heavy = "SELECT count(*) FROM readings AS a, readings AS b, readings AS c, "
                + "readings AS d WHERE a.n + b.n + c.n + d.n < -1";
            state("57014", heavy, statement);
        }
    }

    public static void main(String[] arguments) throws Exception {
        String url = "jdbc:postgresql://127.0.0.1:" + arguments[0] + "/halite";
        Properties properties = new Properties();
        properties.setProperty("user", "ann");
        try (Connection connection = DriverManager.getConnection(url, properties)) {
            check(connection.isValid(60), "a connection");
            try (Statement statement = connection.createStatement()) {
                statement.execute("CREATE TABLE readings (v DOUBLE, n I64, d DECIMAL, "
                    + "ROW KEY (device STRING, ts TIMESTAMP))");
            }
            metadata(connection);
            writes(connection);
            reads(connection);
            parts(connection);
            timeouts(connection);
        }
    }
}
