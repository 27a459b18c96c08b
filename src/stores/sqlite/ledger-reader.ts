import type { UsageAttempt, UsageEvent, UsageRoute } from '../../metering/ledger.ts';
import type { Database } from './database.ts';
import { ledgerKey, ledgerKeySpan } from './ledger-key.ts';

export interface LedgerReader {
  /** See the port's `find`. Rows that are committed. */
  find(id: string, account: string | null): UsageEvent | null;
}

export function createLedgerReader(database: Database): LedgerReader {
  const byKey = database.prepare('SELECT * FROM usage_event WHERE key BETWEEN ? AND ? AND request_id = ?');
  const byClientId = database.prepare(
    'SELECT * FROM usage_event WHERE client_request_id = ? AND account = ? ORDER BY key DESC LIMIT 1',
  );
  const byClientIdAnywhere = database.prepare(
    'SELECT * FROM usage_event WHERE client_request_id = ? ORDER BY key DESC LIMIT 1',
  );
  const attemptsOf = database.prepare('SELECT * FROM attempt WHERE event = ? ORDER BY number');

  function withAttempts(row: Record<string, unknown>): UsageEvent {
    return eventOf(row, attemptsOf.all(Number(row.key)).map(attemptOf));
  }

  return {
    find(id, account) {
      const key = ledgerKey(id);
      const ours = key === null ? undefined : byKey.get(key, key + ledgerKeySpan, id);
      // Ours within another account, or none of ours: a caller may have chosen an id of our form.
      if (ours !== undefined && (account === null || ours.account === account)) return withAttempts(ours);
      const theirs = account === null ? byClientIdAnywhere.get(id) : byClientId.get(id, account);
      return theirs === undefined ? null : withAttempts(theirs);
    },
  };
}

function eventOf(row: Record<string, unknown>, attempts: UsageAttempt[]): UsageEvent {
  return {
    requestId: String(row.request_id),
    clientRequestId: textOrNull(row.client_request_id),
    atMs: Number(row.at_ms),
    account: String(row.account),
    keyId: String(row.key_id),
    tenant: String(row.tenant),
    endpoint: String(row.endpoint),
    alias: String(row.alias),
    target: textOrNull(row.target),
    status: Number(row.status),
    class: String(row.class),
    stream: row.stream === 1,
    aborted: row.aborted === 1,
    ms: Number(row.ms),
    firstTokenMs: numberOrNull(row.first_token_ms),
    inputTokens: Number(row.input_tokens),
    outputTokens: Number(row.output_tokens),
    cachedInputTokens: Number(row.cached_input_tokens),
    reasoningTokens: Number(row.reasoning_tokens),
    characters: Number(row.characters),
    audioMs: Number(row.audio_ms),
    images: Number(row.images),
    costMilli: Number(row.cost_milli),
    costUsd: numberOrNull(row.cost_usd),
    usageSource: String(row.usage_source),
    user: textOrNull(row.user),
    route: { ...(JSON.parse(String(row.route)) as Omit<UsageRoute, 'attempts'>), attempts },
  };
}

function attemptOf(row: Record<string, unknown>): UsageAttempt {
  const target = String(row.target);
  const slash = target.indexOf('/');
  return {
    target,
    provider: target.slice(0, slash),
    model: target.slice(slash + 1),
    credential: String(row.credential),
    class: String(row.class),
    status: numberOrNull(row.status),
    ms: Number(row.ms),
    firstTokenMs: numberOrNull(row.first_token_ms),
    bytes: Number(row.bytes),
    usage: usageOf(row),
    usageSource: String(row.usage_source),
    costUsd: numberOrNull(row.cost_usd),
    message: textOrNull(row.message),
  };
}

function usageOf(row: Record<string, unknown>): UsageAttempt['usage'] {
  if (row.input_tokens === null) return null;
  if (row.usage !== null) return JSON.parse(String(row.usage)) as UsageAttempt['usage'];
  return { inputTokens: Number(row.input_tokens), outputTokens: Number(row.output_tokens) };
}

function textOrNull(value: unknown): string | null {
  return value === null ? null : String(value);
}

function numberOrNull(value: unknown): number | null {
  return value === null ? null : Number(value);
}
