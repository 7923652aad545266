import java.util.List;
import org.apache.hadoop.hbase.client.Delete;
import org.apache.hadoop.hbase.client.Mutation;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.ipc.CoprocessorRpcChannel;
import org.apache.hadoop.hbase.protobuf.ProtobufUtil;
import org.apache.hadoop.hbase.protobuf.generated.ClientProtos.MutationProto.MutationType;
import org.apache.hadoop.hbase.protobuf.generated.MultiRowMutationProtos.MultiRowMutationService;
import org.apache.hadoop.hbase.protobuf.generated.MultiRowMutationProtos.MutateRowsRequest;

/** What clients of HBase 2 say in their own way. */
final class Versioned {
  static final String ZOOKEEPER_REGISTRY = "org.apache.hadoop.hbase.client.ZKConnectionRegistry";
  static final List<String> RPC_REGISTRIES = registries();

  private Versioned() {
  }

  /** 2.4 asks masters only; from 2.5 on any server. */
  private static List<String> registries() {
    String masters = "org.apache.hadoop.hbase.client.MasterRegistry";
    String any = "org.apache.hadoop.hbase.client.RpcConnectionRegistry";
    try {
      Class.forName(any);
      return List.of(masters, any);
    } catch (ClassNotFoundException error) {
      return List.of(masters);
    }
  }

  static void mutateRows(Table table, byte[] row, Mutation... changes) throws Exception {
    MutateRowsRequest.Builder request = MutateRowsRequest.newBuilder();
    for (Mutation change : changes) {
      request.addMutationRequest(ProtobufUtil.toMutation(change instanceof Delete ? MutationType.DELETE : MutationType.PUT, change));
    }
    CoprocessorRpcChannel channel = table.coprocessorService(row);
    try {
      MultiRowMutationService.newBlockingStub(channel).mutateRows(null, request.build());
    } catch (com.google.protobuf.ServiceException error) {
      throw error.getCause() instanceof Exception cause ? cause : error;
    }
  }
}
