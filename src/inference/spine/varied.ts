import { hash } from 'node:crypto';
import { promptRef } from '../../config/cross-check-prompts.ts';
import { type Failure, isFailure } from '../../kernel/failure.ts';
import type { Variant, Variants } from '../models/alias.ts';
import type { BodyAddition } from '../models/prompted-body.ts';
import { filled, type PromptTable } from '../models/prompts.ts';
import type { Snapshot } from '../models/snapshot.ts';
import { endUserOf } from './end-user.ts';
import type { ModelCall } from './model-call.ts';
import { type Reading, readAgain } from './reading.ts';

/** Facts of a request by which it stays with a variant. */
export interface VariedFacts {
  model: string;
  user?: string | null;
  /** Its first messages, by which a conversation is known. */
  conversationStart?: string | null;
}

/**
 * The variant of a request: by its model and by who asks alone, so that it is the same after a restart and on every
 * replica. Null: its model has none, or the caller may not use it.
 */
export function variantOf(
  { models, out }: Pick<Snapshot, 'models' | 'out'>,
  { principal, preferences, callerHeaders }: Pick<ModelCall, 'principal' | 'preferences' | 'callerHeaders'>,
  facts: VariedFacts,
): Variant | null {
  const alias = models.resolve(facts.model, principal);
  if (isFailure(alias) || alias.variants === undefined) return null;
  const { sticky } = alias.variants;
  const user = endUserOf({ principal, callerHeaders }, facts.user);
  const session = preferences.session ?? facts.conversationStart ?? user;
  const stays = sticky === 'user' ? user : sticky === 'session' ? session : null;
  const names = [alias.id, principal.keyId, stays ?? ''];
  const { all, shape } = alias.variants;
  const first = shareOf(all, names);
  const left = shape === undefined || first === null ? null : out?.without(alias.id, shape, all);
  if (left == null || left.includes(first as Variant)) return first;
  // A second place: callers of the others stay where they are.
  return shareOf(left, [...names, 'again']) ?? first;
}

function shareOf(all: Variants['all'], names: readonly string[]): Variant | null {
  const place = Number.parseInt(hash('sha256', JSON.stringify(names), 'hex').slice(0, 12), 16) / 2 ** 48;
  let left = place * all.reduce((sum, { weight }) => sum + weight, 0);
  for (const variant of all) {
    if (variant.weight > 0 && left < variant.weight) return variant;
    left -= variant.weight;
  }
  return all.findLast(({ weight }) => weight > 0) ?? null;
}

interface VariantAddition {
  addition: BodyAddition;
  /** Its prompt with the version, as `name@3`; absent: it has none. */
  prompt?: string;
}

/** Addition of a variant to the body; null: nothing. */
function additionOf({ prompt, parameters }: Variant, prompts: PromptTable | null): VariantAddition | Failure | null {
  const plain: BodyAddition = { messages: [], parameters, over: true, model: null };
  const hasParameters = Object.values(parameters).some((value) => value !== undefined);
  if (prompt === undefined) return hasParameters ? { addition: plain } : null;
  const { name, ref } = promptRef(prompt);
  const found = prompts?.find(name, ref) ?? null;
  if (found === null) return { kind: 'not-found', message: `There is no prompt '${name}' for this model any more.` };
  if (isFailure(found)) return found;
  const messages = filled(found, {});
  if (isFailure(messages)) return messages;
  const addition = { ...plain, messages, parameters: { ...found.parameters, ...parameters } };
  return { addition, prompt: `${name}@${found.number}` };
}

/** A read request with what its variant changes. What is read again takes the place of `value`, which is released. */
export async function throughVariant<
  I,
  V extends { release(): void | Promise<void>; facts?: VariedFacts },
  C extends Pick<ModelCall, 'principal' | 'preferences' | 'callerHeaders' | 'variant' | 'prompt'> = ModelCall,
>(
  snapshot: Snapshot,
  endpoint: Pick<Reading<C, I, V>, 'read' | 'addable'>,
  call: C,
  input: I,
  value: V,
): Promise<{ call: C; input: I; value: V } | Failure> {
  const same = { call, input, value };
  const body = endpoint.addable?.(call, input);
  const variant = value.facts === undefined || body === undefined ? null : variantOf(snapshot, call, value.facts);
  if (variant === null || body === undefined) return same;
  const made = additionOf(variant, snapshot.prompts);
  if (made !== null && isFailure(made)) return made;
  const varied: C = { ...call, variant: variant.alias, ...(made?.prompt !== undefined && { prompt: made.prompt }) };
  if (made === null) return { ...same, call: varied };
  const added = await body.with(made.addition);
  if (isFailure(added)) return added;
  return readAgain(endpoint, varied, added, value);
}
