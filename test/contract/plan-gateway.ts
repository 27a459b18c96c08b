import assert from 'node:assert/strict';
import { chatPath, hello, serve } from './served.ts';

/** Members that design §6 adds to the error of a 429. */
export interface QuotaError {
  message: string;
  type: string;
  code: number;
  limit: string;
  window?: string;
  used: number;
  allowed: number;
  resets_at: string | null;
  retry_after_ms: number | null;
}

/** One gateway in which every plan has an account and a key of its own, named as the plan. */
export async function servePlans(plans: Record<string, unknown>, more: Record<string, unknown> = {}) {
  const keyOf = (plan: string, name = 'one') => `sk-cv-plan-${plan}-${name}`.padEnd(24, '0');
  const names = Object.keys(plans);
  const config = {
    plans,
    accounts: Object.fromEntries(names.map((plan) => [plan, { plan }])),
    keys: names.flatMap((plan) => ['one', 'two'].map((name) => ({ key: keyOf(plan, name), account: plan, name }))),
    ...more,
  };
  const { gateway, upstream } = await serve(config);

  function ask(plan: string, path: string, json?: unknown, name = 'one'): Promise<Response> {
    const headers = { authorization: `Bearer ${keyOf(plan, name)}` };
    return gateway.fetch(path, json === undefined ? { headers } : { headers, json });
  }

  return {
    gateway,
    upstream,
    config,
    keyOf,
    ask,
    /** A chat completion; fields of the body may be replaced. */
    chat: (plan: string, fields: Record<string, unknown> = {}, name = 'one') =>
      ask(plan, chatPath, { ...hello, ...fields }, name),
    /** Sends and gives the status alone, the answer read to its end. */
    async status(plan: string, fields: Record<string, unknown> = {}, name = 'one'): Promise<number> {
      const response = await ask(plan, chatPath, { ...hello, ...fields }, name);
      await response.text();
      return response.status;
    },
    async usage(plan: string, query = '', name = 'one'): Promise<Usage> {
      const response = await ask(plan, `/v1/usage${query}`, undefined, name);
      assert.equal(response.status, 200);
      return (await response.json()) as Usage;
    },
  };
}

export interface Reading {
  used: number;
  allowed: number | null;
  remaining: number | null;
  resets_at: string | null;
}

/** `GET /v1/usage`. */
export interface Usage {
  account: string;
  plan: string;
  windows: Record<'5h' | 'week' | 'month', Reading>;
  rpm: Reading;
  concurrency: { used: number; allowed: number | null };
  tiers: Record<string, { rpm: Reading; windows: Record<'5h' | 'week' | 'month', Reading> }>;
  tokens: Record<'minute' | '5h' | 'week' | 'month', Reading>;
  budget: Record<'5h' | 'week' | 'month', Reading>;
  key: unknown;
  data: {
    group: string;
    requests: number;
    units: number;
    input_tokens: number;
    output_tokens: number;
    cost_usd: number;
    errors: number;
  }[];
}

/** The error of a refused answer; fails unless it is a 429 of this limit. */
export async function refusedFor(limit: string, answer: Response | Promise<Response>): Promise<QuotaError> {
  const response = await answer;
  const { error } = (await response.json()) as { error: QuotaError };
  assert.deepEqual([response.status, error?.type, error?.code], [429, 'rate_limit_error', 429], JSON.stringify(error));
  assert.equal(error.limit, limit);
  return error;
}
