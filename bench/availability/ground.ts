import {
  type GatewayProcess,
  type GatewayProcessOptions,
  startGatewayProcess,
} from '../../test/faults/gateway-process.ts';
import { otherKey, testKey } from '../../test/start-gateway.ts';
import { culvertBin, type Lifetime } from '../../test/start-process.ts';
import type { Row } from '../rows.ts';

/** One tenant takes what it can and another asks beside it: gateways with folders of their own. */
export interface Ground extends Lifetime {
  /** Started with the keys of both tenants, without limits unless `config` has some. */
  start(config: Record<string, unknown>, options?: GatewayProcessOptions): Promise<GatewayProcess>;
  /** Providers and the alias `chat` over a mock in a process of its own, which gets `spec`. */
  chatOver(spec: string): { providers: Record<string, unknown>; models: Record<string, unknown> };
}

export type Measurement = (ground: Ground) => Promise<Row[]>;

/** Of the tenant that takes. */
export const takerKey = testKey;
/** Of the one beside it. */
export const besideKey = otherKey;

/** Runs it, and ends everything that it started, the last first. `bin` is the program of the measured checkout. */
export async function measureOn(mockPort: number, bin: string | null, measurement: Measurement): Promise<Row[]> {
  const ends: (() => unknown)[] = [];
  const keys = [
    { key: takerKey, account: 'taker', name: 'bench' },
    { key: besideKey, account: 'beside', name: 'bench' },
  ];
  const lifetime: Lifetime = { after: (end) => void ends.unshift(end) };
  try {
    return await measurement({
      ...lifetime,
      start: (config, options) =>
        startGatewayProcess(lifetime, { keys, ...config }, { bin: bin ?? culvertBin, ...options }),
      chatOver: (spec) => ({
        providers: { up: { type: 'openai', base_url: `http://127.0.0.1:${mockPort}/v1`, api_key: 'upstream-secret' } },
        models: { chat: { targets: [{ provider: 'up', model: `mock/${spec}` }] } },
      }),
    });
  } finally {
    for (const end of ends) await end();
  }
}

export interface Asked {
  status: number;
  ms: number;
  headers: Headers;
  text: string;
}

/** One request of a tenant, to its end; `body` goes as JSON. */
export async function ask(
  url: string,
  key: string,
  method: string,
  path: string,
  body?: object | string,
): Promise<Asked> {
  const startedMs = performance.now();
  const response = await fetch(url + path, requestOf(key, method, body));
  const text = await response.text();
  return { status: response.status, ms: performance.now() - startedMs, headers: response.headers, text };
}

export function requestOf(key: string, method: string, body?: object | string): RequestInit {
  return {
    method,
    headers: { authorization: `Bearer ${key}`, ...(body !== undefined && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  };
}

/** The longest of this many, one after another, in ms; each must be a 200. */
export async function longestMs(times: number, asked: (nth: number) => Promise<Asked>): Promise<number> {
  let longest = 0;
  for (let nth = 0; nth < times; nth += 1) {
    const { status, ms, text } = await asked(nth);
    if (status !== 200) throw new Error(`${status}: ${text.slice(0, 500)}`);
    longest = Math.max(longest, ms);
  }
  return longest;
}
