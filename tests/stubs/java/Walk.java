import com.google.protobuf.Any;
import com.google.protobuf.FieldMask;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import com.google.protobuf.util.FieldMaskUtil;
import com.google.rpc.BadRequest;
import com.google.rpc.ErrorInfo;
import io.grpc.Channel;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.protobuf.StatusProto;
import io.grpc.stub.MetadataUtils;
import io.grpc.stub.StreamObserver;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import roster.v1.*;

/** Performs the steps of a client that uses the stubs, and prints each completed step. */
public final class Walk {
  private static final String CREATED = "ada@example.com";
  private static final List<String> BULK =
      IntStream.range(0, 24).mapToObj(number -> "person" + number + "@example.com").toList();

  private final SubscriberServiceGrpc.SubscriberServiceBlockingStub subscribers;
  private final SubscriberServiceGrpc.SubscriberServiceStub streaming;
  private final TagServiceGrpc.TagServiceBlockingStub tags;
  private final WebhookServiceGrpc.WebhookServiceBlockingStub webhooks;
  private final Channel withoutKey;
  private Subscriber ada;

  private Walk(Channel channel, String key) {
    var headers = new Metadata();
    headers.put(Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER), "Bearer " + key);
    var withKey = MetadataUtils.newAttachHeadersInterceptor(headers);
    subscribers = SubscriberServiceGrpc.newBlockingStub(channel).withInterceptors(withKey);
    streaming = SubscriberServiceGrpc.newStub(channel).withInterceptors(withKey);
    tags = TagServiceGrpc.newBlockingStub(channel).withInterceptors(withKey);
    webhooks = WebhookServiceGrpc.newBlockingStub(channel).withInterceptors(withKey);
    withoutKey = channel;
  }

  public static void main(String[] arguments) throws Exception {
    ManagedChannel channel =
        Grpc.newChannelBuilder(System.getenv("ROSTER_GRPC_ADDRESS"), InsecureChannelCredentials.create())
            .build();
    try {
      new Walk(channel, System.getenv("ROSTER_API_KEY")).takeEveryStep();
    } finally {
      channel.shutdownNow().awaitTermination(5, TimeUnit.SECONDS);
    }
  }

  private void takeEveryStep() throws Exception {
    take("authenticate", this::authenticate);
    take("create", this::create);
    take("bulk_create", this::bulkCreate);
    take("list_by_page_token", this::listByPageToken);
    take("update_with_mask", this::updateWithMask);
    take("read_error_details", this::readErrorDetails);
    take("stream_export", this::streamExport);
    take("exceed_deadline", this::exceedDeadline);
    take("list_events", this::listEvents);
  }

  private void authenticate() throws Exception {
    var stranger = TagServiceGrpc.newBlockingStub(withoutKey);
    var refused = refusal(() -> stranger.listTags(ListTagsRequest.getDefaultInstance()));
    check(refused.getStatus().getCode() == Status.Code.UNAUTHENTICATED, refused);
    check(detail(refused, ErrorInfo.class).getReason().equals("UNAUTHORIZED"), refused);

    var page = tags.listTags(ListTagsRequest.getDefaultInstance());
    check(page.getTotal() == 0, page);
  }

  private void create() {
    var before = Instant.now().minusSeconds(60);
    var request =
        CreateSubscriberRequest.newBuilder()
            .setEmail(CREATED)
            .setFirstName("Ada")
            .setIsConfirmed(true)
            .addTags("vip")
            .addTags("early")
            .build();

    ada = subscribers.createSubscriber(request).getSubscriber();

    check(ada.getStatus() == Subscriber.Status.CONFIRMED, ada);
    check(ada.getTagsList().equals(List.of("early", "vip")), ada);
    var created = Instant.ofEpochSecond(ada.getCreatedAt().getSeconds(), ada.getCreatedAt().getNanos());
    check(created.isAfter(before) && created.isBefore(before.plusSeconds(120)), ada);
    check(!ada.hasCustomFields(), ada);
  }

  private void bulkCreate() {
    var request = BulkCreateSubscribersRequest.newBuilder();
    BULK.forEach(email -> request.addSubscribersBuilder().setEmail(email));
    request.addSubscribersBuilder().setEmail(BULK.get(0));

    var response = subscribers.bulkCreateSubscribers(request.build());

    check(response.getFailedCount() == 1, response);
    var failure = response.getFailed(0);
    check(failure.getIndex() == BULK.size(), failure);
    check(failure.getReason() == Row.Reason.DUPLICATE_IN_REQUEST, failure);
  }

  private void listByPageToken() {
    var found = new ArrayList<String>();
    var request = ListSubscribersRequest.newBuilder().setLimit(10);
    var pages = 0;
    do {
      var page = subscribers.listSubscribers(request.build());
      page.getSubscribersList().forEach(each -> found.add(each.getEmail()));
      request.setPageToken(page.getNextPageToken());
      pages++;
    } while (!request.getPageToken().isEmpty());

    check(pages == 3, pages);
    check(found.equals(allAddresses()), found);
  }

  private void updateWithMask() {
    FieldMask mask =
        FieldMaskUtil.fromFieldNumbers(
            UpdateSubscriberRequest.class, UpdateSubscriberRequest.LAST_NAME_FIELD_NUMBER);
    var request =
        UpdateSubscriberRequest.newBuilder()
            .setId(ada.getId())
            .setFirstName("not in the mask")
            .setLastName("Lovelace")
            .setUpdateMask(mask)
            .build();

    var changed = subscribers.updateSubscriber(request).getSubscriber();

    check(changed.equals(ada.toBuilder().setLastName("Lovelace").build()), changed);
  }

  private void readErrorDetails() throws Exception {
    var blank = CreateTagRequest.newBuilder().setName(" ").build();

    var refused = refusal(() -> tags.createTag(blank));

    check(refused.getStatus().getCode() == Status.Code.INVALID_ARGUMENT, refused);
    var info = detail(refused, ErrorInfo.class);
    check(info.getDomain().equals("roster"), info);
    check(info.getReason().equals(roster.v1.Error.Reason.VALIDATION_ERROR.name()), info);
    var faults = detail(refused, BadRequest.class).getFieldViolationsList();
    check(faults.size() == 1 && faults.get(0).getField().equals("name"), faults);
    check(faults.get(0).getReason().equals("REQUIRED"), faults);
  }

  private void streamExport() {
    var found = new ArrayList<String>();
    subscribers
        .exportSubscribers(ExportSubscribersRequest.getDefaultInstance())
        .forEachRemaining(
            part -> part.getSubscribersList().forEach(each -> found.add(each.getEmail())));

    check(found.equals(allAddresses()), found);
  }

  /** An import that sends nothing ends with its deadline. */
  private void exceedDeadline() throws Exception {
    var ended = new CompletableFuture<Throwable>();
    streaming
        .withDeadlineAfter(200, TimeUnit.MILLISECONDS)
        .importSubscribers(
            new StreamObserver<ImportSubscribersResponse>() {
              @Override
              public void onNext(ImportSubscribersResponse response) {
                ended.completeExceptionally(new AssertionError(response));
              }

              @Override
              public void onError(Throwable failure) {
                ended.complete(failure);
              }

              @Override
              public void onCompleted() {
                ended.completeExceptionally(new AssertionError("the import ended before its deadline"));
              }
            });

    var failure = ended.get(20, TimeUnit.SECONDS);
    check(Status.fromThrowable(failure).getCode() == Status.Code.DEADLINE_EXCEEDED, failure);
  }

  private void listEvents() {
    var request =
        CreateWebhookRequest.newBuilder()
            .setUrl("https://example.com/hooks")
            .addEventTypes("tag.*")
            .setEnabled(false)
            .build();

    var created = webhooks.createWebhook(request);

    check(created.getSecret().startsWith("whsec_"), "the secret");
    check(!created.getWebhook().getEnabled(), created.getWebhook());
    check(!created.getWebhook().hasFailingSince(), created.getWebhook());
    tags.createTag(CreateTagRequest.newBuilder().setName("gold").build());
    var events = webhooks.listEvents(ListEventsRequest.newBuilder().setEventType("tag.*").build());
    check(events.getEventsCount() == 1, events);
    var event = events.getEvents(0);
    check(event.getType().equals("tag.created") && event.getSequence() == 1, event);
    var tag = event.getData().getFieldsOrThrow("tag").getStructValue();
    check(tag.getFieldsOrThrow("name").getStringValue().equals("gold"), tag);
    check(!event.hasPrevious(), event);
  }

  private static List<String> allAddresses() {
    var all = new ArrayList<>(List.of(CREATED));
    all.addAll(BULK);
    return all;
  }

  private interface Step {
    void run() throws Exception;
  }

  private static void take(String name, Step step) throws Exception {
    step.run();
    System.out.printf("{\"step\": \"%s\"}%n", name);
  }

  /** Returns the error of a call that must fail. */
  private static StatusRuntimeException refusal(Step call) throws Exception {
    try {
      call.run();
    } catch (StatusRuntimeException refused) {
      return refused;
    }
    throw new AssertionError("the call succeeded");
  }

  /** Returns the detail of an error that has this type. */
  private static <T extends Message> T detail(StatusRuntimeException error, Class<T> type)
      throws InvalidProtocolBufferException {
    for (Any packed : StatusProto.fromThrowable(error).getDetailsList()) {
      if (packed.is(type)) {
        return packed.unpack(type);
      }
    }
    throw new AssertionError("no " + type.getSimpleName() + " in " + error);
  }

  private static void check(boolean condition, Object actual) {
    if (!condition) {
      throw new AssertionError(actual);
    }
  }
}
