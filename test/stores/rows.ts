import type { RequestQuery, ReservationRow, UsageEvent } from '../../src/books/metering/ledger.ts';
import { crashedEvent } from '../../src/books/metering/settlement.ts';
import { newRequestId } from '../../src/kernel/ids.ts';

/** Asks for the newest thousand requests. */
export const everything: RequestQuery = {
  accounts: null,
  where: {},
  sinceMs: null,
  untilMs: null,
  after: null,
  limit: 1_000,
  cursor: null,
};

export function reservationRow(over: Partial<ReservationRow> = {}): ReservationRow {
  const atMs = over.atMs ?? Date.now();
  return {
    requestId: newRequestId(atMs),
    bootId: 'boot-1',
    atMs,
    account: 'dev',
    keyId: 'AbCdEf123456',
    tenant: 'dev/laptop',
    endpoint: 'chat',
    alias: 'smart',
    tier: null,
    quotaMs: atMs,
    costMilli: 1_000,
    furtherScopes: null,
    inputTokensEstimate: 120,
    ...over,
  };
}

export function usageEvent(row: ReservationRow, over: Partial<UsageEvent> = {}): UsageEvent {
  return {
    ...crashedEvent(row),
    target: 'openai/gpt-x',
    status: 200,
    class: 'ok',
    aborted: false,
    stream: true,
    ms: 812,
    firstTokenMs: 90,
    outputTokens: 50,
    costUsd: 0.00066,
    usageSource: 'upstream',
    user: 'someone',
    route: {
      alias: row.alias,
      verdicts: [{ target: 'openai/gpt-x', verdict: 'picked' }],
      attempts: [
        {
          target: 'claude/claude-x',
          provider: 'claude',
          model: 'claude-x',
          credential: 'claude#0',
          class: 'transient',
          status: 503,
          startMs: 1,
          ms: 13,
          firstTokenMs: null,
          bytes: 31,
          usage: null,
          usageSource: 'none',
          costUsd: null,
          message: 'overloaded',
        },
        {
          target: 'openai/gpt-x',
          provider: 'openai',
          model: 'gpt-x',
          credential: 'openai#1',
          class: 'ok',
          status: 200,
          startMs: 14,
          ms: 800,
          firstTokenMs: 80,
          bytes: 2_048,
          // More than the columns hold.
          usage: { inputTokens: 120, outputTokens: 50, cachedInputTokens: 100, reasoningTokens: 20 },
          usageSource: 'upstream',
          costUsd: 0.00066,
          message: null,
        },
      ],
    },
    ...over,
  };
}
