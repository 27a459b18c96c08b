/** A table that a backup keeps, and its primary key: the order of its rows there. */
export interface BackupTable {
  name: string;
  order: string;
}

/**
 * Tables that a restore needs, each before those that refer to it, here and below. Pending notices, sessions and boots
 * are left out.
 */
export const accountTables: readonly BackupTable[] = [
  { name: 'account', order: 'id' },
  { name: 'credit', order: 'account, id' },
  { name: 'api_key', order: 'id' },
  { name: 'api_key_secret', order: 'hash' },
  { name: 'key_place', order: 'key_id, address' },
  { name: 'plan', order: 'name' },
  { name: 'kept', order: 'kind, name' },
  { name: 'credential', order: 'provider, id' },
  { name: 'mcp_grant', order: 'server' },
  { name: 'operator', order: 'id' },
  { name: 'invitation', order: 'id' },
  { name: 'scim', order: 'id' },
  { name: 'audit', order: 'id' },
  { name: 'reply', order: 'scope, key' },
  { name: 'crossing', order: 'scope, limit_id, share' },
  { name: 'vector_collection', order: 'generation' },
  { name: 'vector_alias', order: 'tenant, alias' },
  { name: 'vector_index', order: 'generation, key' },
  { name: 'vector_deletion', order: 'generation' },
  { name: 'provider_object', order: 'id_hash, tenant' },
];

export const ledgerTables: readonly BackupTable[] = [
  { name: 'reservation', order: 'request_id' },
  { name: 'usage_event', order: 'request_id' },
  { name: 'feedback', order: 'request_id, metric' },
  { name: 'variant_state', order: 'alias, shape, variant' },
  { name: 'quota_bucket', order: 'scope, grain_ms, bucket' },
  { name: 'rollup', order: 'hour, account, key_id, endpoint, alias, provider' },
  { name: 'rollup_day', order: 'day, account, key_id, endpoint, alias, provider' },
  { name: 'rollup_name', order: 'day, account, key_id, alias, "user", tag' },
  { name: 'rollup_user', order: 'day, account, key_id, alias, "user"' },
  { name: 'rollup_tag', order: 'day, account, key_id, alias, tag' },
  { name: 'rollup_hour_user', order: 'day, "user", hour' },
  { name: 'rollup_hour_tag', order: 'day, tag, hour' },
  { name: 'summed', order: 'one' },
  { name: 'named', order: 'one' },
  { name: 'traffic', order: 'grain_ms, kind, name, bucket' },
  { name: 'cache_sum', order: 'hour, account, alias' },
  { name: 'statement', order: 'month, time_zone' },
  { name: 'repricing', order: 'at_ms, hour, account, key_id, endpoint, alias, provider' },
  { name: 'attempt_sum', order: 'grain_ms, bucket, provider, target, credential, alias, class' },
];

/** Tables of databases that requests open later: files of a data folder, or tables of PostgreSQL, to which a move takes them. */
export const laterTables: readonly string[] = [
  ...['crawl', 'crawl_page', 'crawl_hook', 'response', 'conversation', 'conversation_item', 'conversation_place'],
  ...['stored_file', 'file_chunk', 'batch', 'batch_line', 'kept_body', 'kept_body_signature'],
  ...['vector_store', 'vector_store_file', 'vector_store_batch', 'vector_store_place'],
];
