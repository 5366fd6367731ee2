// Generated from protos/; do not edit.
export * from "./roster/v1/accounts_pb.js";
export * from "./roster/v1/actors_pb.js";
export * from "./roster/v1/api_keys_pb.js";
export * from "./roster/v1/custom_fields_pb.js";
export * from "./roster/v1/errors_pb.js";
export * from "./roster/v1/http_pb.js";
export * from "./roster/v1/links_pb.js";
export * from "./roster/v1/merge_tags_pb.js";
export * from "./roster/v1/operations_pb.js";
export * from "./roster/v1/rows_pb.js";
export * from "./roster/v1/segments_pb.js";
export * from "./roster/v1/signups_pb.js";
export * from "./roster/v1/statistics_pb.js";
export * from "./roster/v1/subscribers_pb.js";
export * from "./roster/v1/suppressions_pb.js";
export * from "./roster/v1/tags_pb.js";
export * from "./roster/v1/webhooks_pb.js";
