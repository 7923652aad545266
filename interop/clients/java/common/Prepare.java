import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.ColumnFamilyDescriptorBuilder;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.client.TableDescriptorBuilder;

/**
 * Makes a table anew for programs that make none: families `f` (three versions) and `g`, and rows `00000`, `00001` and so on.
 * Arguments: the port of the server's ZooKeeper, the table, how many rows, and where its regions begin.
 */
public final class Prepare {
  public static void main(String[] arguments) throws Exception {
    Configuration configuration = Main.configuration(arguments[0]);
    TableName name = TableName.valueOf(arguments[1]);
    int rows = Integer.parseInt(arguments[2]);
    byte[][] splits = List.of(arguments).subList(3, arguments.length).stream().map(Fixture::b).toArray(byte[][]::new);
    try (Connection connection = ConnectionFactory.createConnection(configuration); Admin admin = connection.getAdmin()) {
      if (admin.tableExists(name)) {
        admin.disableTable(name);
        admin.deleteTable(name);
      }
      admin.createTable(TableDescriptorBuilder.newBuilder(name).setColumnFamily(ColumnFamilyDescriptorBuilder.newBuilder(Fixture.F).setMaxVersions(3).build())
        .setColumnFamily(ColumnFamilyDescriptorBuilder.of(Fixture.G)).build(), splits);
      try (Table table = connection.getTable(name)) {
        List<Put> puts = new ArrayList<>();
        for (int row = 0; row < rows; row++) {
          puts.add(new Put(Fixture.b(String.format("%05d", row))).addColumn(Fixture.F, Fixture.b("q"), Fixture.b("value " + row)));
        }
        table.put(puts);
      }
    }
    System.exit(0);
  }
}
