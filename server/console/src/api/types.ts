// Generated from the OpenAPI document by protos/generate_console.py (make generate). Do not edit.

export interface CreateSubscriberRequest {
  email: string;
  firstName?: string | null;
  lastName?: string | null;
  isConfirmed?: boolean | null;
  tags?: string[] | null;
  customFields?: Record<string, unknown> | null;
}

export interface CreateSubscriberResponse {
  subscriber: Subscriber;
}

export interface Subscriber {
  id: string;
  email: string;
  firstName: string;
  lastName: string;
  status: "UNCONFIRMED" | "CONFIRMED" | "UNSUBSCRIBED" | "BOUNCED" | "COMPLAINED";
  tags: string[];
  createdAt: string;
  customFields?: Record<string, unknown>;
  updatedAt?: string;
  statusChangedAt?: string;
  confirmedAt?: string;
  unsubscribedAt?: string;
  consent?: SubscriberConsent;
  confirmUrl?: string;
  unsubscribeUrl?: string;
}

export interface SubscriberConsent {
  source?: string;
  ip?: string;
  at?: string;
}

export interface ErrorResponse {
  error: ErrorBody;
}

export interface ErrorBody {
  code: "Unauthorized" | "ValidationError" | "EmailNotVerified" | "Forbidden" | "SubscriberNotFound" | "TagNotFound" | "CustomFieldNotFound" | "ApiKeyNotFound" | "RouteNotFound" | "MethodNotAllowed" | "SubscriberAlreadyExists" | "TagAlreadyExists" | "CustomFieldAlreadyExists" | "CustomFieldLimitReached" | "RequestTimeout" | "PayloadTooLarge" | "UnsupportedMediaType" | "Internal" | "Unavailable" | "DeadlineExceeded" | "InvalidStatusTransition" | "SubscriberSuppressed" | "SuppressionNotFound" | "IdempotencyKeyReused" | "IdempotencyKeyInUse" | "RateLimited" | "WebhookNotFound" | "WebhookLimitReached" | "WebhookDeliveryNotFound" | "LastAdminKey" | "ApiKeyExpired" | "MethodNotImplemented" | "ServiceNotFound" | "SegmentNotFound" | "SegmentAlreadyExists" | "SegmentLimitReached" | "SegmentWithoutFilter" | "UsedBySegments" | "OperationNotFound" | "OperationLimitReached" | "LinkNotFound" | "PublicUrlNotSet" | "IdempotentResponseErased" | "PreconditionFailed" | "TestDeliveryLimitReached" | "StreamLimitReached" | "CpuShareExceeded" | "TooManyInvalidKeys" | "TooManyInvalidLinks" | "TooManySignups" | "ApiKeyScopeTooBroad" | "CustomFieldBeingDeleted" | "ResponseNotRead" | "FieldNotImplemented" | "SessionNotFound" | "SignInLinkNotFound" | "CrossOriginRequest" | "HttpsRequired" | "SignInLinkLimitReached" | "SelectionChanged" | "OperationNotEnded" | "OperationNotUndoable" | "UndoExpired" | "OperationAlreadyUndone" | "InsufficientStorage" | "ExportNotFound" | "ExportNotReady" | "ExportLimitReached" | "RangeNotSatisfiable" | "ValuesNotConvertible" | "ImportNotFound" | "ImportLimitReached" | "ImportStateConflict" | "UploadOffsetMismatch" | "EventNotFound" | "Cancelled" | "NotFound" | "AlreadyExists" | "ResourceExhausted" | "FailedPrecondition" | "Aborted" | "OutOfRange";
  message: string;
  details: ErrorDetail[];
  requestId: string;
}

export interface ErrorDetail {
  field: string;
  code: "REQUIRED" | "TOO_LONG" | "TOO_SHORT" | "TOO_MANY" | "TOO_FEW" | "OUT_OF_RANGE" | "INVALID_FORMAT" | "INVALID_CHARACTER" | "INVALID_TYPE" | "INVALID_VALUE" | "UNKNOWN_FIELD" | "DUPLICATE_FIELD" | "INVALID_JSON" | "RESERVED" | "TAKEN" | "IN_USE" | "NAME_NOT_ALLOWED" | "CONSENT_COLUMN";
  message: string;
}

export interface BulkCreateSubscribersRequest {
  subscribers: BulkSubscriber[];
  onConflict?: "FAIL" | "SKIP" | "UPDATE" | null;
  returnResults?: boolean | null;
}

export interface BulkSubscriber {
  email?: string | null;
  firstName?: string | null;
  lastName?: string | null;
  isConfirmed?: boolean | null;
  tags?: string[] | null;
  customFields?: Record<string, unknown> | null;
}

export interface BulkCreateSubscribersResponse {
  failed: BulkFailure[];
  results?: BulkResult[];
}

export interface BulkFailure {
  index: number;
  email: string;
  reason: "DUPLICATE_IN_REQUEST" | "ALREADY_EXISTS" | "MISSING_EMAIL" | "INVALID_EMAIL" | "INVALID_FIELD" | "INVALID_TAG" | "INVALID_ROW" | "UNKNOWN_CUSTOM_FIELD" | "INVALID_CUSTOM_FIELD" | "SUPPRESSED" | "FILTERED";
}

export interface BulkResult {
  index: number;
  outcome: "CREATED" | "UPDATED" | "SKIPPED" | "FAILED";
  id?: string;
  reason?: "DUPLICATE_IN_REQUEST" | "ALREADY_EXISTS" | "MISSING_EMAIL" | "INVALID_EMAIL" | "INVALID_FIELD" | "INVALID_TAG" | "INVALID_ROW" | "UNKNOWN_CUSTOM_FIELD" | "INVALID_CUSTOM_FIELD" | "SUPPRESSED" | "FILTERED";
  field?: string;
}

export interface GetSubscriberResponse {
  subscriber: Subscriber;
}

export interface BatchGetSubscribersRequest {
  ids?: string[] | null;
  emails?: string[] | null;
  view?: "BASIC" | "FULL" | null;
}

export interface BatchGetSubscribersResponse {
  subscribers: Subscriber[];
  notFound: string[];
}

export interface ListSubscribersResponse {
  subscribers: Subscriber[];
  total?: number;
  page: number;
  limit: number;
}

export interface UpdateSubscriberRequest {
  email?: string | null;
  firstName?: string | null;
  lastName?: string | null;
  tags?: string[] | null;
  customFields?: Record<string, unknown> | null;
  isConfirmed?: boolean | null;
}

export interface UpdateSubscriberResponse {
  subscriber: Subscriber;
}

export interface ChangeSubscriberStatusRequest {
  status: "UNCONFIRMED" | "CONFIRMED" | "UNSUBSCRIBED" | "BOUNCED" | "COMPLAINED";
  consentSource?: string | null;
}

export interface ChangeSubscriberStatusResponse {
  subscriber: Subscriber;
}

export interface AddSubscriberTagsRequest {
  tags: string[];
}

export interface AddSubscriberTagsResponse {
  subscriber: Subscriber;
}

export interface RemoveSubscriberTagsRequest {
  tags: string[];
}

export interface RemoveSubscriberTagsResponse {
  subscriber: Subscriber;
}

export interface ListSubscriberHistoryResponse {
  history: SubscriberHistoryEntry[];
  total?: number;
  page: number;
  limit: number;
}

export interface SubscriberHistoryEntry {
  id: string;
  type: "CREATED" | "FIELDS_CHANGED" | "TAGS_CHANGED" | "STATUS_CHANGED" | "SUPPRESSION_LIFTED" | "OPT_OUT_REPEATED" | "SIGNED_UP_AGAIN" | "ADDED_AGAIN";
  createdAt: string;
  source: "API" | "IMPORT" | "SELF_SERVICE" | "EMAIL_CHANGED";
  actor?: Actor;
  ip?: string;
  before?: Record<string, unknown>;
  after?: Record<string, unknown>;
  tagsChange?: SubscriberHistoryEntryTagChange;
  statusChange?: SubscriberHistoryEntryStatusChange;
  consentSource?: string;
  reason?: string;
  operationId?: string;
}

export interface Actor {
  type: "API_KEY" | "PERSON" | "COMMAND_LINE" | "SESSION";
  id?: string;
  name?: string;
}

export interface SubscriberHistoryEntryTagChange {
  added: string[];
  removed: string[];
}

export interface SubscriberHistoryEntryStatusChange {
  from?: "UNCONFIRMED" | "CONFIRMED" | "UNSUBSCRIBED" | "BOUNCED" | "COMPLAINED";
  to: "UNCONFIRMED" | "CONFIRMED" | "UNSUBSCRIBED" | "BOUNCED" | "COMPLAINED";
}

export interface GetSubscriberPersonalDataResponse {
  subscriber: Subscriber;
  history: SubscriberHistoryEntry[];
  events: Event[];
  deliveries: PersonalDelivery[];
}

export interface Event {
  id: string;
  type: string;
  timestamp: string;
  accountId?: string;
  sequence: number;
  actor?: Actor;
  data: Record<string, unknown>;
  previous?: Record<string, unknown>;
}

export interface PersonalDelivery {
  delivery: WebhookDelivery;
  attempts: WebhookAttempt[];
}

export interface WebhookDelivery {
  id: string;
  webhookId: string;
  eventId: string;
  eventType: string;
  state: "PENDING" | "SENDING" | "SUCCEEDED" | "FAILED";
  attemptCount: number;
  attempts: number;
  nextAttemptAt?: string;
  operationId?: string;
  createdAt: string;
  endedAt?: string;
}

export interface WebhookAttempt {
  number: number;
  startedAt: string;
  durationMs: number;
  httpStatus?: number;
  error?: string;
  responseBody: string;
  requestHeaders: Record<string, string>;
  nextAttemptAt?: string;
}

export interface GetSubscriberMailabilityResponse {
  mayBeMailed: boolean;
  reason: "UNCONFIRMED" | "CONFIRMED" | "UNSUBSCRIBED" | "BOUNCED" | "COMPLAINED" | "SUPPRESSED" | "NOT_SUBSCRIBED";
  since?: string;
  actor?: Actor;
  suppressed: boolean;
  allowedStatuses: ("UNCONFIRMED" | "CONFIRMED" | "UNSUBSCRIBED" | "BOUNCED" | "COMPLAINED")[];
  source?: "API" | "IMPORT" | "SELF_SERVICE" | "EMAIL_CHANGED";
  operationId?: string;
}

export interface GetSubscriberErasurePreviewResponse {
  historyEntries: number;
  events: number;
  receivers: ErasureReceiver[];
  suppressesAddress: boolean;
}

export interface ErasureReceiver {
  webhookId: string;
  url: string;
  events: number;
}

export interface ImportSubscriber {
  email?: string | null;
  firstName?: string | null;
  lastName?: string | null;
  isConfirmed?: boolean | null;
  tags?: string[] | null;
  customFields?: Record<string, unknown> | null;
  status?: "UNCONFIRMED" | "CONFIRMED" | "UNSUBSCRIBED" | "BOUNCED" | "COMPLAINED" | null;
  createdAt?: string | null;
  statusChangedAt?: string | null;
  confirmedAt?: string | null;
  unsubscribedAt?: string | null;
  consentSource?: string | null;
  consentIp?: string | null;
  consentAt?: string | null;
  consent?: SubscriberConsentInput | null;
}

export interface SubscriberConsentInput {
  source?: string | null;
  ip?: string | null;
  at?: string | null;
}

export interface ImportSummary {
  created: number;
  updated: number;
  skipped: number;
  failed: number;
  statuses: Record<string, number>;
  statusesKept: number;
  preset?: "ROSTER" | "MAILCHIMP" | "KIT" | "BUTTONDOWN" | "EMAILOCTOPUS" | "SUBSTACK" | "BEEHIIV" | "LISTMONK" | "GHOST" | "MAILERLITE" | "BREVO" | "HUBSPOT" | "KLAVIYO" | "ACTIVECAMPAIGN";
  ignoredColumns: string[];
  createdFields: string[];
  unrecognizedCells: UnrecognizedCells[];
  dryRun: boolean;
  rowsWithDroppedCells: number;
  reasons: ReasonCount[];
  stayedOptedOut: number;
  optedOut: number;
}

export interface UnrecognizedCells {
  column: string;
  rows: number;
  example: string;
  hint?: string;
  examples: string[];
}

export interface ReasonCount {
  reason: string;
  total: number;
  examples: string[];
}

export interface ImportResult {
  line: number;
  outcome: "CREATED" | "UPDATED" | "SKIPPED" | "FAILED";
  id?: string;
  email: string;
  reason?: "DUPLICATE_IN_REQUEST" | "ALREADY_EXISTS" | "MISSING_EMAIL" | "INVALID_EMAIL" | "INVALID_FIELD" | "INVALID_TAG" | "INVALID_ROW" | "UNKNOWN_CUSTOM_FIELD" | "INVALID_CUSTOM_FIELD" | "SUPPRESSED" | "FILTERED";
  field?: string;
  statusKept?: boolean;
  droppedCells?: string[];
}

export interface CreateImportRequest {
  name: string;
  size: number;
  sha256?: string | null;
  options?: ImportOptions | null;
}

export interface ImportOptions {
  onConflict?: "FAIL" | "SKIP" | "UPDATE" | null;
  charset?: string | null;
  preset?: "ROSTER" | "MAILCHIMP" | "KIT" | "BUTTONDOWN" | "EMAILOCTOPUS" | "SUBSTACK" | "BEEHIIV" | "LISTMONK" | "GHOST" | "MAILERLITE" | "BREVO" | "HUBSPOT" | "KLAVIYO" | "ACTIVECAMPAIGN" | null;
  columnMap?: string[] | null;
  unknownColumns?: "FAIL" | "IGNORE" | "CREATE_FIELDS" | null;
  addTags?: string[] | null;
  filter?: string | null;
  segmentId?: string | null;
  statusMap?: string[] | null;
  ignoreColumns?: string[] | null;
  dateFormat?: "MDY" | "DMY" | "YMD" | null;
  nullTokens?: string[] | null;
  q?: string | null;
  isConfirmed?: boolean | null;
  consentSource?: string | null;
  delimiter?: "COMMA" | "SEMICOLON" | "TAB" | "VERTICAL_BAR" | "COLON" | null;
  newFields?: ImportOptionsNewField[] | null;
}

export interface ImportOptionsNewField {
  column: string;
  label: string;
  dataType?: "TEXT" | "NUMBER" | "BOOLEAN" | "DATE" | null;
}

export interface CreateImportResponse {
  import: ImportJob;
}

export interface ImportJob {
  id: string;
  name: string;
  state: "UPLOADING" | "INSPECTING" | "READY" | "RUNNING" | "SUCCEEDED" | "CANCELLED" | "FAILED";
  size: number | "NaN" | "Infinity" | "-Infinity";
  received: number | "NaN" | "Infinity" | "-Infinity";
  options: ImportOptionsOutput;
  preset?: "ROSTER" | "MAILCHIMP" | "KIT" | "BUTTONDOWN" | "EMAILOCTOPUS" | "SUBSTACK" | "BEEHIIV" | "LISTMONK" | "GHOST" | "MAILERLITE" | "BREVO" | "HUBSPOT" | "KLAVIYO" | "ACTIVECAMPAIGN";
  format: string;
  delimiter: string;
  columns: ImportJobColumn[];
  problems: ErrorDetail[];
  sample: ImportJobSample[];
  rows: number;
  statuses: ImportJobStatusCount[];
  invalid: ReasonCount[];
  operationId: string;
  processed: number;
  summary?: ImportSummary;
  dryRun: boolean;
  error?: ImportJobFailure;
  actor?: Actor;
  createdAt: string;
  startedAt?: string;
  endedAt?: string;
  expiresAt: string;
  undoneBy?: string;
  undoExpiresAt?: string;
  processedBytes: number | "NaN" | "Infinity" | "-Infinity";
  charset: string;
}

export interface ImportOptionsOutput {
  onConflict?: "FAIL" | "SKIP" | "UPDATE";
  charset: string;
  preset?: "ROSTER" | "MAILCHIMP" | "KIT" | "BUTTONDOWN" | "EMAILOCTOPUS" | "SUBSTACK" | "BEEHIIV" | "LISTMONK" | "GHOST" | "MAILERLITE" | "BREVO" | "HUBSPOT" | "KLAVIYO" | "ACTIVECAMPAIGN";
  columnMap: string[];
  unknownColumns?: "FAIL" | "IGNORE" | "CREATE_FIELDS";
  addTags: string[];
  filter: string;
  segmentId: string;
  statusMap: string[];
  ignoreColumns: string[];
  dateFormat?: "MDY" | "DMY" | "YMD";
  nullTokens: string[];
  q: string;
  isConfirmed: boolean;
  consentSource: string;
  delimiter?: "COMMA" | "SEMICOLON" | "TAB" | "VERTICAL_BAR" | "COLON";
  newFields: ImportOptionsNewFieldOutput[];
}

export interface ImportOptionsNewFieldOutput {
  column: string;
  label: string;
  dataType?: "TEXT" | "NUMBER" | "BOOLEAN" | "DATE";
}

export interface ImportJobColumn {
  name: string;
  target: string;
  filled: number;
  examples: string[];
  proposedType: "TEXT" | "NUMBER" | "BOOLEAN" | "DATE";
  looksLikeConsent: boolean;
  unknown: boolean;
  nearestType?: "TEXT" | "NUMBER" | "BOOLEAN" | "DATE";
  counterexamples: string[];
}

export interface ImportJobSample {
  line: number;
  email: string;
  firstName: string;
  lastName: string;
  status?: "UNCONFIRMED" | "CONFIRMED" | "UNSUBSCRIBED" | "BOUNCED" | "COMPLAINED";
  tags: string[];
  customFields: Record<string, string>;
  reason?: "DUPLICATE_IN_REQUEST" | "ALREADY_EXISTS" | "MISSING_EMAIL" | "INVALID_EMAIL" | "INVALID_FIELD" | "INVALID_TAG" | "INVALID_ROW" | "UNKNOWN_CUSTOM_FIELD" | "INVALID_CUSTOM_FIELD" | "SUPPRESSED" | "FILTERED";
  field: string;
}

export interface ImportJobStatusCount {
  status: "UNCONFIRMED" | "CONFIRMED" | "UNSUBSCRIBED" | "BOUNCED" | "COMPLAINED";
  rows: number;
}

export interface ImportJobFailure {
  reason: string;
  message: string;
  details: ErrorDetail[];
}

export interface UploadImportPartResponse {
  import: ImportJob;
}

export interface ListImportsResponse {
  imports: ImportJob[];
  total?: number;
  page: number;
  limit: number;
}

export interface GetImportResponse {
  import: ImportJob;
}

export interface UpdateImportRequest {
  options: ImportOptions;
}

export interface UpdateImportResponse {
  import: ImportJob;
}

export interface StartImportRequest {
  dryRun?: boolean | null;
}

export interface StartImportResponse {
  import: ImportJob;
}

export interface CancelImportResponse {
  import: ImportJob;
}

export interface UndoImportRequest {
  dryRun?: boolean | null;
}

export interface UndoImportResponse {
  operation: Operation;
}

export interface Operation {
  id: string;
  type: "SUBSCRIBERS_BATCH" | "WEBHOOK_REPLAY" | "SUBSCRIBERS_UNDO" | "SUBSCRIBERS_IMPORT" | "SUBSCRIBERS_EXPORT" | "IMPORT_INSPECTION";
  action?: OperationAction;
  replay?: OperationReplay;
  filter: string;
  segmentId: string;
  dryRun: boolean;
  state: "RUNNING" | "SUCCEEDED" | "CANCELLED" | "FAILED";
  done: boolean;
  total: number;
  processed: number;
  failed: ReasonCount[];
  rate: number;
  createdAt: string;
  endedAt?: string;
  changed?: number;
  wouldChange?: number;
  unchanged?: number;
  actor?: Actor;
  q: string;
  excluded?: number;
  undoOf?: string;
  undoneBy?: string;
  undoExpiresAt?: string;
  importId?: string;
  deleted?: number;
  error?: OperationFailure;
}

export interface OperationAction {
  addTags?: string[];
  removeTags?: string[];
  setCustomFields?: Record<string, unknown>;
  changeStatus?: "UNCONFIRMED" | "CONFIRMED" | "UNSUBSCRIBED" | "BOUNCED" | "COMPLAINED";
  delete?: boolean;
  consentSource?: string;
}

export interface OperationReplay {
  webhookId: string;
  since?: string;
  until?: string;
  eventTypes: string[];
  onlyFailed: boolean;
  deliveries: number;
}

export interface OperationFailure {
  reason: string;
  message: string;
  details: ErrorDetail[];
}

export interface WatchImportResponse {
  import: ImportJob;
}

export interface ImportFailure {
  line: number;
  reason: string;
  field: string;
  cells: string[];
}

export interface CreateSegmentRequest {
  name: string;
  filter: string;
  description?: string | null;
}

export interface CreateSegmentResponse {
  segment: Segment;
}

export interface Segment {
  id: string;
  name: string;
  filter: string;
  description: string;
  createdAt: string;
  updatedAt: string;
  usedBy?: Use[];
}

export interface Use {
  type: "SEGMENT" | "OPERATION";
  id: string;
  name?: string;
}

export interface GetSegmentResponse {
  segment: Segment;
}

export interface ListSegmentsResponse {
  segments: Segment[];
  total?: number;
  page: number;
  limit: number;
}

export interface ListSubscriberSegmentsResponse {
  segments: Segment[];
  total?: number;
  page: number;
  limit: number;
}

export interface UpdateSegmentRequest {
  name?: string | null;
  filter?: string | null;
  description?: string | null;
}

export interface UpdateSegmentResponse {
  segment: Segment;
}

export interface BatchChangeSubscribersRequest {
  filter?: string | null;
  segmentId?: string | null;
  ids?: string[] | null;
  action: BatchAction;
  dryRun?: boolean | null;
  q?: string | null;
  expectedTotal?: number | null;
  excludeIds?: string[] | null;
}

export interface BatchAction {
  addTags?: string[] | null;
  removeTags?: string[] | null;
  setCustomFields?: Record<string, unknown> | null;
  changeStatus?: "UNCONFIRMED" | "CONFIRMED" | "UNSUBSCRIBED" | "BOUNCED" | "COMPLAINED" | null;
  delete?: boolean | null;
  consentSource?: string | null;
}

export interface BatchChangeSubscribersResponse {
  operation: Operation;
}

export interface ListOperationsResponse {
  operations: Operation[];
  total?: number;
  page: number;
  limit: number;
}

export interface GetOperationResponse {
  operation: Operation;
}

export interface CancelOperationResponse {
  operation: Operation;
}

export interface UndoOperationRequest {
  dryRun?: boolean | null;
}

export interface UndoOperationResponse {
  operation: Operation;
}

export interface WatchOperationResponse {
  operation: Operation;
}

export interface CreateExportRequest {
  format?: "NDJSON" | "CSV" | null;
  filter?: string | null;
  segmentId?: string | null;
  q?: string | null;
  view?: "BASIC" | "FULL" | null;
  columns?: string[] | null;
  bom?: boolean | null;
  escapeFormulas?: boolean | null;
  ids?: string[] | null;
  excludeIds?: string[] | null;
  delimiter?: "COMMA" | "SEMICOLON" | null;
}

export interface CreateExportResponse {
  export: SubscriberExport;
}

export interface SubscriberExport {
  id: string;
  state: "RUNNING" | "SUCCEEDED" | "CANCELLED" | "FAILED";
  done: boolean;
  format: "NDJSON" | "CSV";
  view: "BASIC" | "FULL";
  columns: string[];
  filter: string;
  segmentId: string;
  q: string;
  total: number;
  processed: number;
  size: number | "NaN" | "Infinity" | "-Infinity";
  sha256?: string;
  failed: ReasonCount[];
  createdAt: string;
  endedAt?: string;
  expiresAt: string;
  actor?: Actor;
  error?: OperationFailure;
}

export interface ListExportsResponse {
  exports: SubscriberExport[];
  total?: number;
  page: number;
  limit: number;
}

export interface GetExportResponse {
  export: SubscriberExport;
}

export interface CancelExportResponse {
  export: SubscriberExport;
}

export interface WatchExportResponse {
  export: SubscriberExport;
}

export interface CreateTagRequest {
  name: string;
  description?: string | null;
}

export interface CreateTagResponse {
  tag: Tag;
}

export interface Tag {
  id: string;
  name: string;
  description: string;
  createdAt: string;
  usedBy?: Use[];
}

export interface GetTagResponse {
  tag: Tag;
}

export interface ListTagsResponse {
  tags: Tag[];
  total?: number;
  page: number;
  limit: number;
}

export interface UpdateTagRequest {
  name?: string | null;
  description?: string | null;
}

export interface UpdateTagResponse {
  tag: Tag;
}

export interface CreateCustomFieldRequest {
  label: string;
  dataType?: "TEXT" | "NUMBER" | "BOOLEAN" | "DATE" | null;
  fallback?: string | null;
}

export interface CreateCustomFieldResponse {
  customField: CustomField;
}

export interface CustomField {
  id: string;
  key: string;
  label: string;
  dataType: "TEXT" | "NUMBER" | "BOOLEAN" | "DATE";
  mergeTag: string;
  createdAt: string;
  updatedAt: string;
  fallback?: string;
  usedBy?: Use[];
}

export interface GetCustomFieldResponse {
  customField: CustomField;
}

export interface ListCustomFieldsResponse {
  customFields: CustomField[];
  total?: number;
  page: number;
  limit: number;
}

export interface SuggestCustomFieldValuesResponse {
  values: CustomFieldValueTotal[];
  isExact: boolean;
}

export interface CustomFieldValueTotal {
  value: Record<string, unknown>;
  total: number;
}

export interface UpdateCustomFieldRequest {
  label?: string | null;
  fallback?: string | null;
  dataType?: "TEXT" | "NUMBER" | "BOOLEAN" | "DATE" | null;
}

export interface UpdateCustomFieldResponse {
  customField: CustomField;
}

export interface RenderMergeTagsRequest {
  subject?: string | null;
  body?: string | null;
  subscriberId: string;
}

export interface RenderMergeTagsResponse {
  subject: string;
  body: string;
  unknown: string[];
  headers?: Record<string, string>;
  suggestions?: Record<string, string>;
}

export interface CreateSubscriberLinksRequest {
  purposes?: ("CONFIRM" | "UNSUBSCRIBE")[] | null;
}

export interface CreateSubscriberLinksResponse {
  links: SubscriberLink[];
  confirmUrl?: string;
  confirmExpiresAt?: string;
  unsubscribeUrl?: string;
}

export interface SubscriberLink {
  purpose: "CONFIRM" | "UNSUBSCRIBE";
  url: string;
  expiresAt?: string;
}

export interface GetLinkResponse {
  link: Link;
}

export interface Link {
  purpose: "CONFIRM" | "UNSUBSCRIBE";
  subscriberId: string;
  maskedEmail: string;
  status: "UNCONFIRMED" | "CONFIRMED" | "UNSUBSCRIBED" | "BOUNCED" | "COMPLAINED";
  expiresAt?: string;
  undoUntil?: string;
}

export interface FollowLinkRequest {
  undo?: boolean | null;
  ip?: string | null;
}

export interface FollowLinkResponse {
  link: Link;
}

export interface SignUpRequest {
  email: string;
  firstName?: string | null;
  lastName?: string | null;
  tags?: string[] | null;
  customFields?: Record<string, unknown> | null;
  website?: string | null;
  ip?: string | null;
}

export interface SignUpResponse {
}

export interface AddSuppressionsRequest {
  emails: string[];
  reason?: "UNSUBSCRIBED" | "BOUNCED" | "COMPLAINED" | "MANUAL" | null;
}

export interface AddSuppressionsResponse {
  added: number;
  existing: number;
  optedOut: number;
  failed: BulkFailure[];
}

export interface ImportSuppression {
  email?: string | null;
  reason?: "UNSUBSCRIBED" | "BOUNCED" | "COMPLAINED" | "MANUAL" | null;
  createdAt?: string | null;
}

export interface ImportSuppressionsSummary {
  added: number;
  existing: number;
  failed: number;
  optedOut: number;
  ignoredColumns: string[];
  unrecognizedCells: UnrecognizedCells[];
  reasons: ReasonCount[];
}

export interface ImportSuppressionResult {
  line: number;
  outcome: "ADDED" | "EXISTING" | "FAILED";
  email: string;
  field?: string;
  reason?: "DUPLICATE_IN_REQUEST" | "ALREADY_EXISTS" | "MISSING_EMAIL" | "INVALID_EMAIL" | "INVALID_FIELD" | "INVALID_TAG" | "INVALID_ROW" | "UNKNOWN_CUSTOM_FIELD" | "INVALID_CUSTOM_FIELD" | "SUPPRESSED" | "FILTERED";
}

export interface Suppression {
  emailHash: string;
  reason: "UNSUBSCRIBED" | "BOUNCED" | "COMPLAINED" | "MANUAL";
  createdAt: string;
}

export interface GetSuppressionResponse {
  suppression: Suppression;
}

export interface ListSuppressionsResponse {
  suppressions: Suppression[];
  total?: number;
  page: number;
  limit: number;
}

export interface GetStatisticsResponse {
  total: number;
  byStatus: StatusTotals;
  netGrowth?: number;
  tags: TagTotal[];
  segments: SegmentTotal[];
}

export interface StatusTotals {
  unconfirmed: number;
  confirmed: number;
  unsubscribed: number;
  bounced: number;
  complained: number;
}

export interface TagTotal {
  id: string;
  name: string;
  total: number;
}

export interface SegmentTotal {
  id: string;
  total: number;
}

export interface GetDailyStatisticsResponse {
  days: DailyStatistics[];
  exactFrom?: string;
}

export interface DailyStatistics {
  date: string;
  created: number;
  confirmed: number;
  unsubscribed: number;
  bounced: number;
  complained: number;
  deleted: number;
  netGrowth: number;
  imported: number;
}

export interface CreateWebhookRequest {
  url: string;
  description?: string | null;
  eventTypes?: string[] | null;
  enabled?: boolean | null;
}

export interface CreateWebhookResponse {
  webhook: Webhook;
  secret: string;
}

export interface Webhook {
  id: string;
  url: string;
  description: string;
  eventTypes: string[];
  enabled: boolean;
  disabledReason?: "GONE" | "FAILING";
  failingSince?: string;
  createdAt: string;
  updatedAt: string;
}

export interface GetWebhookResponse {
  webhook: Webhook;
}

export interface ListWebhooksResponse {
  webhooks: Webhook[];
  total?: number;
  page: number;
  limit: number;
}

export interface GetWebhookHealthResponse {
  health: WebhookHealth;
}

export interface WebhookHealth {
  webhookId: string;
  state: "HEALTHY" | "FAILING" | "PAUSED" | "DISABLED";
  succeededAttempts: number;
  failedAttempts: number;
  successRate?: number | "NaN" | "Infinity" | "-Infinity";
  countedSince?: string;
  waiting: number;
  oldestWaitingAt?: string;
  failingSince?: string;
  lastHttpStatus?: number;
  lastError?: string;
  nextAttemptAt?: string;
  latestAttempts: WebhookHealthAttempt[];
}

export interface WebhookHealthAttempt {
  deliveryId: string;
  number: number;
  startedAt: string;
  durationMs: number;
  httpStatus?: number;
  error?: string;
}

export interface UpdateWebhookRequest {
  url?: string | null;
  description?: string | null;
  eventTypes?: string[] | null;
  enabled?: boolean | null;
}

export interface UpdateWebhookResponse {
  webhook: Webhook;
}

export interface RotateWebhookSecretResponse {
  webhook: Webhook;
  secret: string;
}

export interface TestWebhookResponse {
  delivery: WebhookDelivery;
  attempt: WebhookAttempt;
}

export interface ReplayWebhookRequest {
  since: string;
  until?: string | null;
  eventTypes?: string[] | null;
  onlyFailed?: boolean | null;
}

export interface ReplayWebhookResponse {
  operation: Operation;
}

export interface ListWebhookDeliveriesResponse {
  deliveries: WebhookDelivery[];
  total?: number;
  page: number;
  limit: number;
}

export interface ListAllWebhookDeliveriesResponse {
  deliveries: WebhookDelivery[];
  total?: number;
  page: number;
  limit: number;
}

export interface GetWebhookDeliveryResponse {
  delivery: WebhookDelivery;
  attempts: WebhookAttempt[];
}

export interface RetryWebhookDeliveryResponse {
  delivery: WebhookDelivery;
}

export interface TailWebhookDeliveriesResponse {
  delivery: WebhookDelivery;
  attempt: WebhookAttempt;
}

export interface ListEventsResponse {
  events: Event[];
  total?: number;
  page: number;
  limit: number;
}

export interface GetEventResponse {
  event: Event;
}

export interface GetAccountResponse {
  account: Account;
}

export interface Account {
  id: string;
  email: string;
  emailVerified: boolean;
  displayName: string;
  color: string;
  logo: string;
  createdAt: string;
}

export interface UpdateAccountRequest {
  displayName?: string | null;
  color?: string | null;
  logo?: string | null;
}

export interface UpdateAccountResponse {
  account: Account;
}

export interface CreateApiKeyRequest {
  name: string;
  scope: "read" | "write" | "admin" | "signup";
  expiresAt?: string | null;
}

export interface CreateApiKeyResponse {
  apiKey: ApiKey;
  secret: string;
}

export interface ApiKey {
  id: string;
  name: string;
  scope: string;
  createdAt: string;
  expiresAt?: string;
  lastUsedAt?: string;
  createdBy?: Actor;
  previousSecretExpiresAt?: string;
}

export interface ListApiKeysResponse {
  apiKeys: ApiKey[];
  total?: number;
  page: number;
  limit: number;
}

export interface RotateApiKeyRequest {
  graceSeconds?: number | null;
}

export interface RotateApiKeyResponse {
  apiKey: ApiKey;
  secret: string;
}

export interface SignInRequest {
  token: string;
}

export interface SignInResponse {
  session: Session;
}

export interface Session {
  id: string;
  name: string;
  scope: string;
  createdAt: string;
  expiresAt: string;
  lastUsedAt: string;
  apiKeyId?: string;
}

export interface GetCurrentSessionResponse {
  session?: Session;
  apiKey?: ApiKey;
  account: Account;
  serverVersion: string;
  publicUrl: string;
  limits: Limits;
}

export interface Limits {
  customFields: number;
  segments: number;
  webhooks: number;
  runningOperations: number;
  signInLinks: number;
}

export interface ListSessionsResponse {
  sessions: Session[];
  total?: number;
  page: number;
  limit: number;
}

export interface CreateSignInLinkRequest {
  name: string;
  scope: "read" | "write" | "admin";
  expiresInSeconds?: number | null;
}

export interface CreateSignInLinkResponse {
  signInLink: SignInLink;
  url: string;
}

export interface SignInLink {
  id: string;
  name: string;
  scope: string;
  createdAt: string;
  expiresAt: string;
}

export interface ListSignInLinksResponse {
  signInLinks: SignInLink[];
  total?: number;
  page: number;
  limit: number;
}

export interface ListAuditEntriesResponse {
  entries: AuditEntry[];
  total?: number;
  page: number;
  limit: number;
}

export interface AuditEntry {
  id: string;
  action: string;
  createdAt: string;
  actor: Actor;
  ip?: string;
  resourceType: string;
  resourceId?: string;
  before?: Record<string, unknown>;
  after?: Record<string, unknown>;
}

export interface SubscriberEvent {
  id: string;
  type: "subscriber.created" | "subscriber.updated" | "subscriber.deleted" | "subscriber.signup_repeated" | "subscriber.confirmed" | "subscriber.unsubscribed" | "subscriber.bounced" | "subscriber.complained";
  timestamp: string;
  accountId?: string;
  sequence: number;
  actor?: Actor;
  data: { subscriber: Subscriber; };
  previous?: Record<string, unknown>;
}

export interface TagEvent {
  id: string;
  type: "tag.created" | "tag.updated" | "tag.deleted";
  timestamp: string;
  accountId?: string;
  sequence: number;
  actor?: Actor;
  data: { tag: Tag; };
  previous?: Record<string, unknown>;
}

export interface CustomFieldEvent {
  id: string;
  type: "custom_field.created" | "custom_field.updated" | "custom_field.deleted";
  timestamp: string;
  accountId?: string;
  sequence: number;
  actor?: Actor;
  data: { customField: CustomField; };
  previous?: Record<string, unknown>;
}

export interface OperationEvent {
  id: string;
  type: "operation.completed";
  timestamp: string;
  accountId?: string;
  sequence: number;
  actor?: Actor;
  data: { operation: Operation; };
  previous?: Record<string, unknown>;
}

export interface WebhookEvent {
  id: string;
  type: "webhook.disabled" | "webhook.test";
  timestamp: string;
  accountId?: string;
  sequence: number;
  actor?: Actor;
  data: { webhook: Webhook; };
  previous?: Record<string, unknown>;
}

export type EventPayload = SubscriberEvent | TagEvent | CustomFieldEvent | OperationEvent | WebhookEvent;

/** All operations by method and path. */
export interface Operations {
  "GET /api/subscribers": {
    path: {  };
    query: { limit?: number; page?: number; status?: "UNCONFIRMED" | "CONFIRMED" | "UNSUBSCRIBED" | "BOUNCED" | "COMPLAINED"; tag?: string; email?: string; q?: string; createdAfter?: string; createdBefore?: string; order?: "" | "asc" | "desc"; pageToken?: string; updatedAfter?: string; updatedBefore?: string; orderBy?: "" | "createdAt" | "createdAt asc" | "createdAt desc" | "updatedAt" | "updatedAt asc" | "updatedAt desc" | "email" | "email asc" | "email desc" | "lastName" | "lastName asc" | "lastName desc" | "statusChangedAt" | "statusChangedAt asc" | "statusChangedAt desc"; view?: "BASIC" | "FULL"; filter?: string; segmentId?: string; readMask?: string; total?: "EXACT" | "NONE" | "AT_MOST_10000"; };
    body: undefined;
    response: ListSubscribersResponse;
  };
  "POST /api/subscribers": {
    path: {  };
    query: {  };
    body: CreateSubscriberRequest;
    response: CreateSubscriberResponse;
  };
  "POST /api/subscribers/bulk": {
    path: {  };
    query: {  };
    body: BulkCreateSubscribersRequest;
    response: BulkCreateSubscribersResponse;
  };
  "GET /api/subscribers/{id}": {
    path: { id: string; };
    query: { view?: "BASIC" | "FULL"; readMask?: string; };
    body: undefined;
    response: GetSubscriberResponse;
  };
  "PUT /api/subscribers/{id}": {
    path: { id: string; };
    query: { allowMissing?: boolean; };
    body: UpdateSubscriberRequest;
    response: UpdateSubscriberResponse;
  };
  "PATCH /api/subscribers/{id}": {
    path: { id: string; };
    query: { allowMissing?: boolean; };
    body: UpdateSubscriberRequest;
    response: UpdateSubscriberResponse;
  };
  "DELETE /api/subscribers/{id}": {
    path: { id: string; };
    query: { erase?: boolean; };
    body: undefined;
    response: undefined;
  };
  "POST /api/subscribers/batch-get": {
    path: {  };
    query: {  };
    body: BatchGetSubscribersRequest;
    response: BatchGetSubscribersResponse;
  };
  "PUT /api/subscribers/{id}/status": {
    path: { id: string; };
    query: {  };
    body: ChangeSubscriberStatusRequest;
    response: ChangeSubscriberStatusResponse;
  };
  "POST /api/subscribers/{id}/tags": {
    path: { id: string; };
    query: {  };
    body: AddSubscriberTagsRequest;
    response: AddSubscriberTagsResponse;
  };
  "POST /api/subscribers/{id}/tags/remove": {
    path: { id: string; };
    query: {  };
    body: RemoveSubscriberTagsRequest;
    response: RemoveSubscriberTagsResponse;
  };
  "GET /api/subscribers/{id}/history": {
    path: { id: string; };
    query: { limit?: number; page?: number; pageToken?: string; };
    body: undefined;
    response: ListSubscriberHistoryResponse;
  };
  "GET /api/subscribers/{id}/personal-data": {
    path: { id: string; };
    query: { pageToken?: string; };
    body: undefined;
    response: GetSubscriberPersonalDataResponse;
  };
  "GET /api/subscribers/{id}/mailability": {
    path: { id: string; };
    query: {  };
    body: undefined;
    response: GetSubscriberMailabilityResponse;
  };
  "GET /api/subscribers/{id}/erasure-preview": {
    path: { id: string; };
    query: {  };
    body: undefined;
    response: GetSubscriberErasurePreviewResponse;
  };
  "POST /api/subscribers/import": {
    path: {  };
    query: { onConflict?: "FAIL" | "SKIP" | "UPDATE"; afterLine?: number; charset?: string; preset?: "ROSTER" | "MAILCHIMP" | "KIT" | "BUTTONDOWN" | "EMAILOCTOPUS" | "SUBSTACK" | "BEEHIIV" | "LISTMONK" | "GHOST" | "MAILERLITE" | "BREVO" | "HUBSPOT" | "KLAVIYO" | "ACTIVECAMPAIGN"; columnMap?: string[]; unknownColumns?: "FAIL" | "IGNORE" | "CREATE_FIELDS"; addTags?: string[]; dryRun?: boolean; filter?: string; segmentId?: string; results?: "ALL" | "FAILED" | "SUMMARY"; statusMap?: string[]; ignoreColumns?: string[]; dateFormat?: "MDY" | "DMY" | "YMD"; nullTokens?: string[]; q?: string; isConfirmed?: boolean; consentSource?: string; };
    body: unknown;
    response: unknown;
  };
  "GET /api/subscribers/export": {
    path: {  };
    query: { format?: "NDJSON" | "CSV"; status?: "UNCONFIRMED" | "CONFIRMED" | "UNSUBSCRIBED" | "BOUNCED" | "COMPLAINED"; tag?: string; createdAfter?: string; createdBefore?: string; afterId?: string; updatedAfter?: string; updatedBefore?: string; view?: "BASIC" | "FULL"; filter?: string; segmentId?: string; include?: "LINKS"[]; bom?: boolean; escapeFormulas?: boolean; q?: string; columns?: string[]; delimiter?: "COMMA" | "SEMICOLON"; };
    body: undefined;
    response: unknown;
  };
  "GET /api/imports": {
    path: {  };
    query: { limit?: number; page?: number; pageToken?: string; };
    body: undefined;
    response: ListImportsResponse;
  };
  "POST /api/imports": {
    path: {  };
    query: {  };
    body: CreateImportRequest;
    response: CreateImportResponse;
  };
  "PUT /api/imports/{id}/content": {
    path: { id: string; };
    query: { offset?: number; sha256?: string; };
    body: unknown;
    response: UploadImportPartResponse;
  };
  "GET /api/imports/{id}": {
    path: { id: string; };
    query: {  };
    body: undefined;
    response: GetImportResponse;
  };
  "PATCH /api/imports/{id}": {
    path: { id: string; };
    query: {  };
    body: UpdateImportRequest;
    response: UpdateImportResponse;
  };
  "DELETE /api/imports/{id}": {
    path: { id: string; };
    query: {  };
    body: undefined;
    response: undefined;
  };
  "POST /api/imports/{id}/start": {
    path: { id: string; };
    query: {  };
    body: StartImportRequest;
    response: StartImportResponse;
  };
  "POST /api/imports/{id}/cancel": {
    path: { id: string; };
    query: {  };
    body: undefined;
    response: CancelImportResponse;
  };
  "POST /api/imports/{id}/undo": {
    path: { id: string; };
    query: {  };
    body: UndoImportRequest;
    response: UndoImportResponse;
  };
  "GET /api/imports/{id}/watch": {
    path: { id: string; };
    query: {  };
    body: undefined;
    response: unknown;
  };
  "GET /api/imports/{id}/failures": {
    path: { id: string; };
    query: { format?: "NDJSON" | "CSV"; };
    body: undefined;
    response: unknown;
  };
  "GET /api/segments": {
    path: {  };
    query: { limit?: number; page?: number; pageToken?: string; include?: "USED_BY"[]; };
    body: undefined;
    response: ListSegmentsResponse;
  };
  "POST /api/segments": {
    path: {  };
    query: {  };
    body: CreateSegmentRequest;
    response: CreateSegmentResponse;
  };
  "GET /api/segments/{id}": {
    path: { id: string; };
    query: { include?: "USED_BY"[]; };
    body: undefined;
    response: GetSegmentResponse;
  };
  "PUT /api/segments/{id}": {
    path: { id: string; };
    query: {  };
    body: UpdateSegmentRequest;
    response: UpdateSegmentResponse;
  };
  "PATCH /api/segments/{id}": {
    path: { id: string; };
    query: {  };
    body: UpdateSegmentRequest;
    response: UpdateSegmentResponse;
  };
  "DELETE /api/segments/{id}": {
    path: { id: string; };
    query: {  };
    body: undefined;
    response: undefined;
  };
  "GET /api/subscribers/{id}/segments": {
    path: { id: string; };
    query: { limit?: number; page?: number; pageToken?: string; };
    body: undefined;
    response: ListSubscriberSegmentsResponse;
  };
  "POST /api/subscribers/batch": {
    path: {  };
    query: {  };
    body: BatchChangeSubscribersRequest;
    response: BatchChangeSubscribersResponse;
  };
  "GET /api/operations": {
    path: {  };
    query: { limit?: number; page?: number; pageToken?: string; state?: "RUNNING" | "SUCCEEDED" | "CANCELLED" | "FAILED"; type?: "SUBSCRIBERS_BATCH" | "WEBHOOK_REPLAY" | "SUBSCRIBERS_UNDO" | "SUBSCRIBERS_IMPORT" | "SUBSCRIBERS_EXPORT" | "IMPORT_INSPECTION"; };
    body: undefined;
    response: ListOperationsResponse;
  };
  "GET /api/operations/{id}": {
    path: { id: string; };
    query: {  };
    body: undefined;
    response: GetOperationResponse;
  };
  "POST /api/operations/{id}/cancel": {
    path: { id: string; };
    query: {  };
    body: undefined;
    response: CancelOperationResponse;
  };
  "POST /api/operations/{id}/undo": {
    path: { id: string; };
    query: {  };
    body: UndoOperationRequest;
    response: UndoOperationResponse;
  };
  "GET /api/operations/{id}/watch": {
    path: { id: string; };
    query: {  };
    body: undefined;
    response: unknown;
  };
  "GET /api/exports": {
    path: {  };
    query: { limit?: number; page?: number; pageToken?: string; };
    body: undefined;
    response: ListExportsResponse;
  };
  "POST /api/exports": {
    path: {  };
    query: {  };
    body: CreateExportRequest;
    response: CreateExportResponse;
  };
  "GET /api/exports/{id}": {
    path: { id: string; };
    query: {  };
    body: undefined;
    response: GetExportResponse;
  };
  "DELETE /api/exports/{id}": {
    path: { id: string; };
    query: {  };
    body: undefined;
    response: undefined;
  };
  "POST /api/exports/{id}/cancel": {
    path: { id: string; };
    query: {  };
    body: undefined;
    response: CancelExportResponse;
  };
  "GET /api/exports/{id}/watch": {
    path: { id: string; };
    query: {  };
    body: undefined;
    response: unknown;
  };
  "GET /api/exports/{id}/file": {
    path: { id: string; };
    query: {  };
    body: undefined;
    response: unknown;
  };
  "GET /api/tags": {
    path: {  };
    query: { limit?: number; page?: number; pageToken?: string; include?: "USED_BY"[]; };
    body: undefined;
    response: ListTagsResponse;
  };
  "POST /api/tags": {
    path: {  };
    query: {  };
    body: CreateTagRequest;
    response: CreateTagResponse;
  };
  "GET /api/tags/{id}": {
    path: { id: string; };
    query: { include?: "USED_BY"[]; };
    body: undefined;
    response: GetTagResponse;
  };
  "PUT /api/tags/{id}": {
    path: { id: string; };
    query: {  };
    body: UpdateTagRequest;
    response: UpdateTagResponse;
  };
  "PATCH /api/tags/{id}": {
    path: { id: string; };
    query: {  };
    body: UpdateTagRequest;
    response: UpdateTagResponse;
  };
  "DELETE /api/tags/{id}": {
    path: { id: string; };
    query: { force?: boolean; };
    body: undefined;
    response: undefined;
  };
  "GET /api/custom-fields": {
    path: {  };
    query: { limit?: number; page?: number; pageToken?: string; include?: "USED_BY"[]; };
    body: undefined;
    response: ListCustomFieldsResponse;
  };
  "POST /api/custom-fields": {
    path: {  };
    query: {  };
    body: CreateCustomFieldRequest;
    response: CreateCustomFieldResponse;
  };
  "GET /api/custom-fields/{id}": {
    path: { id: string; };
    query: { include?: "USED_BY"[]; };
    body: undefined;
    response: GetCustomFieldResponse;
  };
  "PUT /api/custom-fields/{id}": {
    path: { id: string; };
    query: {  };
    body: UpdateCustomFieldRequest;
    response: UpdateCustomFieldResponse;
  };
  "PATCH /api/custom-fields/{id}": {
    path: { id: string; };
    query: {  };
    body: UpdateCustomFieldRequest;
    response: UpdateCustomFieldResponse;
  };
  "DELETE /api/custom-fields/{id}": {
    path: { id: string; };
    query: { force?: boolean; };
    body: undefined;
    response: undefined;
  };
  "GET /api/custom-fields/{id}/values": {
    path: { id: string; };
    query: { prefix?: string; };
    body: undefined;
    response: SuggestCustomFieldValuesResponse;
  };
  "POST /api/merge-tags/render": {
    path: {  };
    query: {  };
    body: RenderMergeTagsRequest;
    response: RenderMergeTagsResponse;
  };
  "POST /api/subscribers/{id}/links": {
    path: { id: string; };
    query: {  };
    body: CreateSubscriberLinksRequest;
    response: CreateSubscriberLinksResponse;
  };
  "GET /api/links/{token}": {
    path: { token: string; };
    query: {  };
    body: undefined;
    response: GetLinkResponse;
  };
  "POST /api/links/{token}": {
    path: { token: string; };
    query: {  };
    body: FollowLinkRequest;
    response: FollowLinkResponse;
  };
  "GET /api/account/page-preview": {
    path: {  };
    query: { page: "CONFIRM" | "CONFIRMED" | "NOT_CONFIRMABLE" | "UNSUBSCRIBE" | "UNSUBSCRIBED" | "RESUBSCRIBED" | "ENDED" | "SIGNED_UP"; language?: "" | "en" | "de" | "fr" | "es"; };
    body: undefined;
    response: unknown;
  };
  "POST /api/signup": {
    path: {  };
    query: {  };
    body: SignUpRequest;
    response: SignUpResponse;
  };
  "GET /api/suppressions": {
    path: {  };
    query: { limit?: number; page?: number; pageToken?: string; reason?: "UNSUBSCRIBED" | "BOUNCED" | "COMPLAINED" | "MANUAL"; order?: "" | "asc" | "desc"; };
    body: undefined;
    response: ListSuppressionsResponse;
  };
  "POST /api/suppressions": {
    path: {  };
    query: {  };
    body: AddSuppressionsRequest;
    response: AddSuppressionsResponse;
  };
  "POST /api/suppressions/import": {
    path: {  };
    query: { reason?: "UNSUBSCRIBED" | "BOUNCED" | "COMPLAINED" | "MANUAL"; charset?: string; results?: "ALL" | "FAILED" | "SUMMARY"; columnMap?: string[]; dateFormat?: "MDY" | "DMY" | "YMD"; nullTokens?: string[]; };
    body: unknown;
    response: unknown;
  };
  "GET /api/suppressions/export": {
    path: {  };
    query: { format?: "NDJSON" | "CSV"; bom?: boolean; };
    body: undefined;
    response: unknown;
  };
  "GET /api/suppressions/{id}": {
    path: { id: string; };
    query: {  };
    body: undefined;
    response: GetSuppressionResponse;
  };
  "DELETE /api/suppressions/{id}": {
    path: { id: string; };
    query: { reason?: string; };
    body: undefined;
    response: undefined;
  };
  "GET /api/statistics": {
    path: {  };
    query: { include?: "TAGS"[]; segmentIds?: string[]; filter?: string; segmentId?: string; q?: string; by?: "STATUS" | "TAG"; };
    body: undefined;
    response: GetStatisticsResponse;
  };
  "GET /api/statistics/daily": {
    path: {  };
    query: { from?: string; to?: string; timeZone?: string; };
    body: undefined;
    response: GetDailyStatisticsResponse;
  };
  "GET /api/webhooks": {
    path: {  };
    query: { limit?: number; page?: number; pageToken?: string; };
    body: undefined;
    response: ListWebhooksResponse;
  };
  "POST /api/webhooks": {
    path: {  };
    query: {  };
    body: CreateWebhookRequest;
    response: CreateWebhookResponse;
  };
  "GET /api/webhooks/{id}": {
    path: { id: string; };
    query: {  };
    body: undefined;
    response: GetWebhookResponse;
  };
  "PUT /api/webhooks/{id}": {
    path: { id: string; };
    query: {  };
    body: UpdateWebhookRequest;
    response: UpdateWebhookResponse;
  };
  "PATCH /api/webhooks/{id}": {
    path: { id: string; };
    query: {  };
    body: UpdateWebhookRequest;
    response: UpdateWebhookResponse;
  };
  "DELETE /api/webhooks/{id}": {
    path: { id: string; };
    query: {  };
    body: undefined;
    response: undefined;
  };
  "GET /api/webhooks/{id}/health": {
    path: { id: string; };
    query: {  };
    body: undefined;
    response: GetWebhookHealthResponse;
  };
  "POST /api/webhooks/{id}/rotate-secret": {
    path: { id: string; };
    query: {  };
    body: undefined;
    response: RotateWebhookSecretResponse;
  };
  "POST /api/webhooks/{id}/test": {
    path: { id: string; };
    query: {  };
    body: undefined;
    response: TestWebhookResponse;
  };
  "POST /api/webhooks/{id}/replay": {
    path: { id: string; };
    query: {  };
    body: ReplayWebhookRequest;
    response: ReplayWebhookResponse;
  };
  "GET /api/webhooks/{id}/deliveries": {
    path: { id: string; };
    query: { limit?: number; page?: number; state?: "PENDING" | "SENDING" | "SUCCEEDED" | "FAILED"; eventType?: string; eventId?: string; createdAfter?: string; createdBefore?: string; pageToken?: string; };
    body: undefined;
    response: ListWebhookDeliveriesResponse;
  };
  "GET /api/webhook-deliveries": {
    path: {  };
    query: { limit?: number; page?: number; webhookId?: string; state?: "PENDING" | "SENDING" | "SUCCEEDED" | "FAILED"; eventType?: string; eventId?: string; subscriberId?: string; httpStatus?: number; since?: string; until?: string; pageToken?: string; };
    body: undefined;
    response: ListAllWebhookDeliveriesResponse;
  };
  "GET /api/webhook-deliveries/{id}": {
    path: { id: string; };
    query: {  };
    body: undefined;
    response: GetWebhookDeliveryResponse;
  };
  "POST /api/webhook-deliveries/{id}/retry": {
    path: { id: string; };
    query: {  };
    body: undefined;
    response: RetryWebhookDeliveryResponse;
  };
  "GET /api/webhook-deliveries/tail": {
    path: {  };
    query: { webhookId?: string; };
    body: undefined;
    response: unknown;
  };
  "GET /api/events": {
    path: {  };
    query: { limit?: number; page?: number; eventType?: string; afterSequence?: number; createdAfter?: string; createdBefore?: string; order?: "" | "asc" | "desc"; pageToken?: string; };
    body: undefined;
    response: ListEventsResponse;
  };
  "GET /api/events/{id}": {
    path: { id: string; };
    query: {  };
    body: undefined;
    response: GetEventResponse;
  };
  "GET /api/account": {
    path: {  };
    query: {  };
    body: undefined;
    response: GetAccountResponse;
  };
  "PATCH /api/account": {
    path: {  };
    query: {  };
    body: UpdateAccountRequest;
    response: UpdateAccountResponse;
  };
  "GET /api/keys": {
    path: {  };
    query: { limit?: number; page?: number; pageToken?: string; };
    body: undefined;
    response: ListApiKeysResponse;
  };
  "POST /api/keys": {
    path: {  };
    query: {  };
    body: CreateApiKeyRequest;
    response: CreateApiKeyResponse;
  };
  "POST /api/keys/{id}/rotate": {
    path: { id: string; };
    query: {  };
    body: RotateApiKeyRequest;
    response: RotateApiKeyResponse;
  };
  "DELETE /api/keys/{id}": {
    path: { id: string; };
    query: {  };
    body: undefined;
    response: undefined;
  };
  "GET /api/session": {
    path: {  };
    query: {  };
    body: undefined;
    response: GetCurrentSessionResponse;
  };
  "POST /api/session": {
    path: {  };
    query: {  };
    body: SignInRequest;
    response: SignInResponse;
  };
  "DELETE /api/session": {
    path: {  };
    query: {  };
    body: undefined;
    response: undefined;
  };
  "GET /api/sessions": {
    path: {  };
    query: { limit?: number; page?: number; pageToken?: string; };
    body: undefined;
    response: ListSessionsResponse;
  };
  "DELETE /api/sessions": {
    path: {  };
    query: {  };
    body: undefined;
    response: undefined;
  };
  "DELETE /api/sessions/{id}": {
    path: { id: string; };
    query: {  };
    body: undefined;
    response: undefined;
  };
  "GET /api/sign-in-links": {
    path: {  };
    query: { limit?: number; page?: number; pageToken?: string; };
    body: undefined;
    response: ListSignInLinksResponse;
  };
  "POST /api/sign-in-links": {
    path: {  };
    query: {  };
    body: CreateSignInLinkRequest;
    response: CreateSignInLinkResponse;
  };
  "DELETE /api/sign-in-links/{id}": {
    path: { id: string; };
    query: {  };
    body: undefined;
    response: undefined;
  };
  "GET /api/audit": {
    path: {  };
    query: { limit?: number; page?: number; action?: string; actor?: string; resourceType?: string; resourceId?: string; createdAfter?: string; createdBefore?: string; pageToken?: string; };
    body: undefined;
    response: ListAuditEntriesResponse;
  };
  "GET /api/audit/export": {
    path: {  };
    query: { action?: string; actor?: string; resourceType?: string; resourceId?: string; createdAfter?: string; createdBefore?: string; };
    body: undefined;
    response: unknown;
  };
}
