import type { FaultCase } from './fault-cases.ts';

export type UpstreamType = 'openai' | 'anthropic';

/** Text of the second target; `mock/text=…` as a model id. */
export const secondAnswer = 'The second target answers.';

/**
 * One alias per case: its first target fails as told, its second answers. Each first target has a provider of its own,
 * so that no case's breaker or cooldown moves another's. `broken` is the upstream of the cases, `healthy` the other's.
 */
export function overCases(
  cases: readonly Pick<FaultCase, 'name' | 'spec'>[],
  type: UpstreamType,
  { broken, healthy, extra = {} }: { broken: string; healthy: string; extra?: Record<string, string> },
): Record<string, unknown> {
  // Short only where the fault is a silence: a busy machine must not make others of the rest.
  const ofSilence = { connect: '150ms', first_token: '250ms', idle: '250ms', total: '700ms' };
  const providers: Record<string, unknown> = {
    healthy: { type, base_url: `${healthy}/v1`, api_key: 'upstream-secret-healthy' },
  };
  const models: Record<string, unknown> = {};
  const add = (alias: string, url: string, spec: string) => {
    // Nobody answers there, so only the way to it may end the wait.
    const ofBlackHole = { connect: ofSilence.connect };
    const timeouts = alias.includes('black-hole') ? ofBlackHole : /hang|stall/.test(spec) ? ofSilence : {};
    providers[alias] = { type, base_url: `${url}/v1`, api_key: `upstream-secret-${alias}`, timeouts };
    models[alias] = {
      targets: [
        { provider: alias, model: `mock/${spec}`, priority: 1, price: { input: 1_000_000, output: 1_000_000 } },
        { provider: 'healthy', model: `mock/text=${encodeURIComponent(secondAnswer)}`, priority: 2 },
      ],
    };
  };
  for (const { name, spec } of cases) add(aliasOf(name), broken, spec);
  for (const [name, url] of Object.entries(extra)) add(aliasOf(name), url, 'ok');
  return { providers, models };
}

export function aliasOf(name: string): string {
  return name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '');
}
