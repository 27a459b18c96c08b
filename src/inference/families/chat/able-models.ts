import type { Principal } from '../../../books/auth/principal.ts';
import { type Failure, isFailure } from '../../../kernel/failure.ts';
import { dialectFor, type NamedModel, orUse, unmetNeed } from '../../../routing/capability.ts';
import type { Target } from '../../../routing/target.ts';
import type { Snapshot } from '../../models/snapshot.ts';
import { type Conversation, prepareFor } from './conversation-trial.ts';
import { nothingFetched } from './fetch-media.ts';

/** Formats of providers that are tried: the conversions of one format refuse alike. */
const triedMax = 8;

/**
 * The refusal of every converter, with the models of this caller that the same body could be sent to. Nothing is sent:
 * a request that nobody can answer has time for this.
 */
export async function withAbleModels(
  failure: Failure,
  { models, providers }: Snapshot,
  { alias, principal }: { alias: Pick<NamedModel, 'id' | 'type'>; principal: Principal },
  conversation: Conversation,
): Promise<Failure> {
  if (failure.kind !== 'invalid-request') return failure;
  const { needs } = conversation.body.facts;
  const asking: Conversation = { ...conversation, media: () => nothingFetched };
  const known = new Map<string, boolean>();
  const canEncode = async (target: Target): Promise<boolean> => {
    const place = `${providers.get(target.provider)?.connection.provider.id} ${dialectFor(target, conversation.dialect)}`;
    const before = known.get(place);
    if (before !== undefined) return before;
    const can = known.size < triedMax && !isFailure(await prepareFor(target, asking));
    known.set(place, can);
    return can;
  };
  const able: NamedModel[] = [];
  for (const other of models.list(principal)) {
    if (other.id === alias.id || other.type !== alias.type) continue;
    const [target] = other.candidates.filter((one) => unmetNeed(one.target, needs) === null).map((one) => one.target);
    if (target !== undefined && (await canEncode(target))) able.push(other);
  }
  return orUse(failure, able);
}
