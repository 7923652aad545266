import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.mapreduce.ImportTsv;
import org.apache.hadoop.hbase.tool.BulkLoadHFilesTool;
import org.apache.hadoop.util.ToolRunner;

/** ImportTsv, with puts and by way of store files, and the loading tool as people call it. */
final class TsvImports {
  static void run(Fixture fixture, Files files) throws Exception {
    String input = files.text("tsv/input", "a,1,one", "k,2,two", "k,3,three", "no columns", "z,4,four").toString();
    try (Table table = fixture.table("tsv", "h", "p")) {
      String name = table.getName().getNameAsString();
      Configuration puts = settings(fixture);
      fixture.out.call("with puts", () -> ToolRunner.run(puts, new ImportTsv(), new String[] {name, input}));
      fixture.scan("what was put", table, new Scan());
      Configuration output = settings(fixture);
      output.set("importtsv.bulk.output", files.path("tsv-output").toString());
      output.set("importtsv.timestamp", "9");
      output.set("importtsv.columns", "HBASE_ROW_KEY,g:number,g:word");
      fixture.out.call("to store files", () -> ToolRunner.run(output, new ImportTsv(), new String[] {name, input}));
      fixture.out.line("files: f " + files.count("tsv-output", "f") + ", g " + files.count("tsv-output", "g"));
      String[] load = {files.path("tsv-output").toString(), name};
      fixture.out.call("loading them", () -> ToolRunner.run(settings(fixture), new BulkLoadHFilesTool(fixture.configuration), load));
      fixture.scan("both", table, new Scan());
    }
  }

  private static Configuration settings(Fixture fixture) {
    Configuration configuration = new Configuration(fixture.configuration);
    configuration.set("importtsv.columns", "HBASE_ROW_KEY,f:number,f:word");
    configuration.set("importtsv.separator", ",");
    configuration.set("importtsv.timestamp", "7");
    return configuration;
  }
}
