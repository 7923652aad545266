import java.util.List;
import org.apache.hadoop.hbase.client.Delete;
import org.apache.hadoop.hbase.client.Mutation;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.ipc.CoprocessorRpcChannel;
import org.apache.hadoop.hbase.shaded.protobuf.ProtobufUtil;
import org.apache.hadoop.hbase.shaded.protobuf.generated.ClientProtos.MutationProto.MutationType;
import org.apache.hadoop.hbase.shaded.protobuf.generated.MultiRowMutationProtos.MultiRowMutationService;
import org.apache.hadoop.hbase.shaded.protobuf.generated.MultiRowMutationProtos.MutateRowsRequest;

/** What clients of HBase 3 say in their own way. */
final class Versioned {
  static final String ZOOKEEPER_REGISTRY = "org.apache.hadoop.hbase.client.ZKConnectionRegistry";
  static final List<String> RPC_REGISTRIES = List.of("org.apache.hadoop.hbase.client.RpcConnectionRegistry");

  private Versioned() {
  }

  static void mutateRows(Table table, byte[] row, Mutation... changes) throws Exception {
    MutateRowsRequest.Builder request = MutateRowsRequest.newBuilder();
    for (Mutation change : changes) {
      request.addMutationRequest(ProtobufUtil.toMutation(change instanceof Delete ? MutationType.DELETE : MutationType.PUT, change));
    }
    CoprocessorRpcChannel channel = (CoprocessorRpcChannel) table.coprocessorService(row);
    try {
      MultiRowMutationService.newBlockingStub(channel).mutateRows(null, request.build());
    } catch (org.apache.hbase.thirdparty.com.google.protobuf.ServiceException error) {
      throw error.getCause() instanceof Exception cause ? cause : error;
    }
  }
}
