import type { RequestNeeds } from '../../src/formats/neutral/request.ts';
import { builtInHedge, type RouteCandidate, type RouteQuery } from '../../src/routing/route.ts';
import type { Capabilities, Target } from '../../src/routing/target.ts';

/** A target that can do everything and knows no limits, except for `overrides`. `id` is `provider/model`. */
export function targetOf(
  id: string,
  overrides: Partial<Omit<Target, 'credentials' | 'capabilities'>> & {
    credentials?: readonly string[];
    rpm?: number;
    cannot?: readonly (keyof Capabilities)[];
  } = {},
): Target {
  const { credentials, rpm, cannot, ...rest } = overrides;
  const [provider, model] = id.split('/') as [string, string];
  const can = (name: keyof Capabilities) => !(cannot ?? []).includes(name);
  return {
    id,
    provider,
    model,
    priority: 1,
    weight: 1,
    dialect: 'openai-chat',
    credentials: (credentials ?? [`${provider}#0`]).map((name) => ({ id: name, weight: 1, rpm: rpm ?? null })),
    capabilities: {
      vision: can('vision'),
      tools: can('tools'),
      reasoning: can('reasoning'),
      audioIn: can('audioIn'),
      files: can('files'),
      logprobs: can('logprobs'),
      jsonSchema: can('jsonSchema'),
      nativeN: can('nativeN'),
      streaming: true,
    },
    timeouts: { connectMs: 3_000, firstTokenMs: 30_000, idleMs: 30_000, totalMs: 600_000 },
    contextWindow: null,
    maxOutputTokens: null,
    price: null,
    simulated: false,
    stream: true,
    body: {},
    ...rest,
  };
}

export const plainNeeds: RequestNeeds = {
  vision: false,
  audioIn: false,
  tools: false,
  logprobs: false,
  jsonSchema: false,
  reasoning: false,
  n: 1,
  stream: true,
  inputTokensEstimate: 100,
  maxOutputTokens: null,
};

/** Plain targets are rank 0; `{ target, rank }` says otherwise. */
export function queryOf(
  targets: readonly (Target | RouteCandidate)[],
  overrides: Partial<RouteQuery> = {},
): RouteQuery {
  return {
    alias: 'smart',
    tenant: 'dev/laptop',
    targets: targets.map((one) => ('target' in one ? one : { target: one, rank: 0 })),
    needs: plainNeeds,
    conversation: null,
    attemptsMax: 4,
    fallback: 'allowed',
    callerDialect: 'openai-chat',
    hedge: builtInHedge,
    ...overrides,
  };
}
