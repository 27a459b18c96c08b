import { hash } from 'node:crypto';
import { promptRef } from '../../config/cross-check-prompts.ts';
import { type Failure, isFailure } from '../../kernel/failure.ts';
import type { Variant, Variants } from '../models/alias.ts';
import type { BodyAddition } from '../models/prompted-body.ts';
import { filled, type PromptTable } from '../models/prompts.ts';
import type { Snapshot } from '../models/snapshot.ts';
import type { ModelCall } from './model-call.ts';
import type { AddableInput } from './prompted.ts';

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
  { principal, preferences }: Pick<ModelCall, 'principal' | 'preferences'>,
  facts: VariedFacts,
): Variant | null {
  const alias = models.resolve(facts.model, principal);
  if (isFailure(alias) || alias.variants === undefined) return null;
  const { sticky } = alias.variants;
  const { user = facts.user } = principal;
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

/** Addition of a variant to the body; null: nothing. */
function additionOf({ prompt, parameters }: Variant, prompts: PromptTable | null): BodyAddition | Failure | null {
  const hasParameters = Object.values(parameters).some((value) => value !== undefined);
  if (prompt === undefined) return hasParameters ? { messages: [], parameters, over: true, model: null } : null;
  const { name, ref } = promptRef(prompt);
  const found = prompts?.find(name, ref) ?? null;
  if (found === null) return { kind: 'not-found', message: `There is no prompt '${name}' for this model any more.` };
  if (isFailure(found)) return found;
  const messages = filled(found, {});
  if (isFailure(messages)) return messages;
  return { messages, parameters: { ...found.parameters, ...parameters }, over: true, model: null };
}

/** The prompt of a variant with its version, as `name@3`; null: it has none. */
function promptOf({ prompt }: Variant, prompts: PromptTable | null): string | null {
  if (prompt === undefined) return null;
  const { name, ref } = promptRef(prompt);
  const found = prompts?.find(name, ref) ?? null;
  return found === null || isFailure(found) ? null : `${name}@${found.number}`;
}

/** A read request with what its variant changes. What is read again takes the place of `value`, which is released. */
export async function throughVariant<
  I,
  V extends { release(): void | Promise<void>; facts?: VariedFacts },
  C extends Pick<ModelCall, 'principal' | 'preferences' | 'variant' | 'prompt'> = ModelCall,
>(
  snapshot: Snapshot,
  endpoint: {
    read(call: C, input: I): V | Failure | Promise<V | Failure>;
    addable?(call: C, input: I): AddableInput<I>;
  },
  call: C,
  input: I,
  value: V,
): Promise<{ call: C; input: I; value: V } | Failure> {
  const same = { call, input, value };
  const body = endpoint.addable?.(call, input);
  const variant = value.facts === undefined || body === undefined ? null : variantOf(snapshot, call, value.facts);
  if (variant === null || body === undefined) return same;
  const varied: C = { ...call, variant: variant.alias };
  const addition = additionOf(variant, snapshot.prompts);
  if (addition === null) return { ...same, call: varied };
  if (isFailure(addition)) return addition;
  const prompt = promptOf(variant, snapshot.prompts);
  if (prompt !== null) varied.prompt = prompt;
  const added = await body.with(addition);
  if (isFailure(added)) return added;
  const again = await endpoint.read(varied, added);
  if (isFailure(again)) return again;
  await value.release();
  return { call: varied, input: added, value: again };
}
