import type { Failure } from '../../kernel/failure.ts';
import type { RequestNeeds } from '../neutral/request.ts';
import { unmetNeed } from '../routing/candidates.ts';
import type { RouteCandidate } from '../routing/route.ts';

/** The 400 for what no candidate can do; null when one can. Asked before anything is reserved: it is the caller's fault. */
export function noneCapable(alias: string, candidates: readonly RouteCandidate[], needs: RequestNeeds): Failure | null {
  const unmet = new Set<string>();
  for (const { target } of candidates) {
    const need = unmetNeed(target, needs);
    if (need === null) return null;
    unmet.add(need);
  }
  return incapable(alias, [...unmet]);
}

/** None of its providers could be made ready: the operator's to mend, not the caller's. */
export function noneUsable(alias: string): Failure {
  const message = `No provider of the model '${alias}' can be used as it is configured; 'culvert check' says why.`;
  return { kind: 'no-target', model: alias, retryAfterMs: unusableRetryMs, message };
}

const unusableRetryMs = 60_000;

/** `unmet` as routing words it, such as `vision`. */
export function incapable(alias: string, unmet: readonly string[]): Failure {
  return {
    kind: 'invalid-request',
    param: paramOfNeed(unmet),
    message: `No target of model '${alias}' can do what this request asks (${unmet.join(', ')}). Use another model or leave that out.`,
  };
}

/** The field to change when one need alone stands in the way and has a field of its own; else the model. */
function paramOfNeed(unmet: readonly string[]): string {
  const fields = new Set(unmet.map((need) => fieldOfNeed[need.split(':', 1)[0]!] ?? 'model'));
  const [field] = fields;
  return field === undefined || fields.size > 1 ? 'model' : field;
}

const fieldOfNeed: Readonly<Record<string, string>> = {
  logprobs: 'logprobs',
  tools: 'tools',
  'JSON schema': 'response_format',
  vision: 'messages',
  'audio input': 'messages',
  'token input': 'input',
  dimensions: 'dimensions',
  size: 'size',
  background: 'background',
  output_format: 'output_format',
  'pictures to change': 'image',
  mask: 'mask',
  times: 'response_format',
  file: 'file',
};
