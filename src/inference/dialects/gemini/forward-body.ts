import { isObject, type JsonObject, type JsonValue } from '../../../kernel/json.ts';
import type { Loss } from '../../neutral/loss.ts';
import type { ForwardTarget } from '../dialect.ts';
import { type ForwardBody, gatewayOnlyFields } from '../forward-body.ts';
import { withOperatorFields } from './encode-request.ts';
import { withoutPathMembers } from './path-members.ts';
import { mayHoldSealed, unsealSignature } from './seal-signature.ts';
import { noSignature } from './wire.ts';

/** As the body has been read: in camel case, which Google takes beside snake case. */
const staysHere = new Set([...gatewayOnlyFields].map((name) => name.replace(/_([a-z])/g, (_, c) => c.toUpperCase())));

/** The caller's own bytes, unless something in them must change for the target. */
export function forwardBody(raw: Buffer, body: JsonObject, target: ForwardTarget): ForwardBody {
  const losses: Loss[] = [];
  const changed = changedBody(raw, body, target, losses);
  const own = changed === null ? withoutPathMembers(raw) : null;
  if (own !== null) return { bytes: own, losses };
  const { model: _, stream: __, ...rest } = changed ?? body;
  return { bytes: JSON.stringify(rest), losses };
}

/** Null when nothing has to change. */
function changedBody(raw: Buffer, body: JsonObject, target: ForwardTarget, losses: Loss[]): JsonObject | null {
  let changed: JsonObject | null = null;
  const config = isObject(body.generationConfig) ? body.generationConfig : {};
  const limit = target.maxOutputTokens;
  if (typeof config.maxOutputTokens === 'number' && limit !== null && config.maxOutputTokens > limit) {
    losses.push({ field: 'generationConfig.maxOutputTokens', why: 'clamped' });
    changed = { ...body, generationConfig: { ...config, maxOutputTokens: limit } };
  }
  for (const name in body) {
    if (!staysHere.has(name)) continue;
    changed = { ...(changed ?? body) };
    delete changed[name];
  }
  const { n, seed, ...fields } = target.body;
  // One child of a fan-out asks for one candidate.
  const child = n === undefined ? {} : { candidateCount: n, ...(seed === undefined ? {} : { seed }) };
  if (Object.keys(child).length > 0) {
    const own = isObject((changed ?? body).generationConfig) ? ((changed ?? body).generationConfig as JsonObject) : {};
    changed = { ...(changed ?? body), generationConfig: { ...own, ...(child as JsonObject) } };
  }
  if (Object.keys(fields).length > 0) changed = withOperatorFields(changed ?? body, fields);
  if (mayHoldSealed(raw)) {
    const contents = ((changed ?? body).contents as JsonObject[]).map(withoutSealed);
    changed = { ...(changed ?? body), contents };
  }
  return changed;
}

/** Another vendor's proof means nothing to Google, which still wants one on its calls. */
function withoutSealed(content: JsonObject): JsonObject {
  const parts = (content.parts as JsonObject[]).map((part): JsonValue => {
    if (typeof part.thoughtSignature !== 'string' || unsealSignature(part.thoughtSignature) === null) return part;
    const { thoughtSignature: _, ...rest } = part;
    return rest.functionCall === undefined ? rest : { ...rest, thoughtSignature: noSignature };
  });
  return { ...content, parts };
}
