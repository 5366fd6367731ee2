import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.stub.MetadataUtils;
import java.util.concurrent.TimeUnit;
import roster.v1.*;

/** Lists and exports subscribers with a client that has default settings. */
public final class Large {
  public static void main(String[] arguments) throws Exception {
    var headers = new Metadata();
    headers.put(
        Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER),
        "Bearer " + System.getenv("ROSTER_API_KEY"));
    ManagedChannel channel =
        Grpc.newChannelBuilder(System.getenv("ROSTER_GRPC_ADDRESS"), InsecureChannelCredentials.create())
            .build();
    try {
      var subscribers =
          SubscriberServiceGrpc.newBlockingStub(channel)
              .withInterceptors(MetadataUtils.newAttachHeadersInterceptor(headers));
      var page = subscribers.listSubscribers(ListSubscribersRequest.newBuilder().setLimit(100).build());
      var parts = subscribers.exportSubscribers(ExportSubscribersRequest.getDefaultInstance());
      int exported = 0;
      while (parts.hasNext()) {
        exported += parts.next().getSubscribersCount();
      }
      System.out.printf(
          "{\"listed\": %d, \"exported\": %d}%n", page.getSubscribersCount(), exported);
    } finally {
      channel.shutdownNow().awaitTermination(5, TimeUnit.SECONDS);
    }
  }
}
