import type { ForwardedEndpointId, ForwardedRequest } from '../../formats/dialects/forwarded/endpoint.ts';
import type { CallersToolNames } from '../../formats/neutral/fit-tool-names.ts';
import type { Loss } from '../../formats/neutral/loss.ts';
import { providerTypes } from '../../formats/providers/catalog.ts';
import { knownBetas } from '../../formats/providers/known-betas.ts';
import type { BodyMembers, QuirksOfModel } from '../../formats/providers/provider.ts';
import { quirksOf } from '../../formats/providers/quirks.ts';
import { type Failure, invalid } from '../../kernel/failure.ts';
import type { Target } from '../../routing/target.ts';

/** The target that a body is written for, as plain data. */
export interface ForwardOrder extends Pick<Target, 'dialect' | 'model' | 'maxOutputTokens' | 'wholeByStream' | 'body'> {
  /** Provider type of the catalog. */
  provider: string;
  /** Absent: it is asked to chat. */
  endpoint?: ForwardedEndpointId;
  /** The model cannot stream: it is asked whole in the caller's format, too. */
  neverStreams?: boolean;
  /** Betas of Anthropic's that caller and operator ask for, as the header has them; absent: none. */
  betas?: string | undefined;
  /** One child of a fan-out asks for one choice; null = as the caller wrote. */
  child: { seed: number | null } | null;
}

/** A body as it is sent. */
export interface EncodedBody {
  bytes: Buffer | string;
  losses: readonly Loss[];
  answer: 'pass-through' | 'converted';
  unwrapTool: string | undefined;
  /** Strings at which the answer is cut here. */
  stop?: readonly string[] | undefined;
  /** Set when tools go by other names than the caller's: calls must be given back by those. */
  callersToolNames?: CallersToolNames;
  streamed: boolean;
}

/**
 * A request in the target's format: its bytes, with the changes that the target needs. `ofChat`: the quirks of the
 * model in conversations.
 */
export function encodeForwarded(
  request: ForwardedRequest,
  order: ForwardOrder,
  ofChat: QuirksOfModel = quirksOf(providerTypes.get(order.provider)!, order.model, order.dialect),
): EncodedBody | Failure {
  const provider = providerTypes.get(order.provider)!;
  const { endpoint } = order;
  // It would fetch with its reach in the operator's network, past the guard.
  const address = provider.local ? request.address?.() : undefined;
  if (address !== undefined) return invalid(address, inlineOnly(address));
  const forwardBody = endpoint === undefined ? undefined : provider.forwardBodies?.[endpoint]?.(order.model);
  // Bodies of other endpoints have other members.
  const quirks =
    endpoint === undefined ? ofChat : { ...ofChat, omit: forwardBody?.omit ?? [], rename: forwardBody?.rename ?? {} };
  const { members, losses: lostBetas } = membersFor(forwardBody ?? provider.bodies?.[order.dialect], order.betas);
  const form = requestedForm(request, order);
  const isMadeHere = form !== 'as requested';
  const stream = form === 'stream';
  const { bytes, losses: lostFields } = request.forward({
    model: order.model,
    maxOutputTokens: order.maxOutputTokens,
    body: {
      ...membersAdded(order, members),
      // In Google's format the path says whether it streams.
      ...(isMadeHere && order.dialect !== 'gemini' && { stream }),
      ...(stream && order.dialect === 'openai-chat' && quirks.streamUsage && usageOption),
    },
    streamUsage: !isMadeHere && request.stream && quirks.streamUsage ? 'ask' : 'leave',
    omit: form === 'whole' ? [...quirks.omit, 'stream_options'] : quirks.omit,
    // A service that always reports its use may refuse to be asked (Mistral). Its callers get the counts nevertheless.
    without: isMadeHere || quirks.streamUsage ? members?.without : [...(members?.without ?? []), 'stream_options'],
    rename: quirks.rename,
    efforts: quirks.efforts,
    history: quirks.history,
    fits: members?.fits === undefined ? quirks.fits : [...(quirks.fits ?? []), members.fits],
  });
  // What is made here provides what its caller asked of it. A stream of Responses contains the whole answer.
  const losses = isMadeHere ? lostFields.filter(({ field }) => field !== 'stream_options') : lostFields;
  return {
    bytes,
    losses: lostBetas.length === 0 ? losses : [...losses, ...lostBetas],
    answer: isMadeHere && !(stream && order.dialect === 'openai-responses') ? 'converted' : 'pass-through',
    unwrapTool: undefined,
    streamed: isMadeHere ? stream : request.stream,
  };
}

/** Form of the answer that the target is to send. For some targets the caller's form is made of the other one here. */
function requestedForm(
  { stream }: Pick<ForwardedRequest, 'stream'>,
  { neverStreams, wholeByStream }: ForwardOrder,
): 'as requested' | 'stream' | 'whole' {
  if (stream) return neverStreams === true ? 'whole' : 'as requested';
  return wholeByStream === true ? 'stream' : 'as requested';
}

function inlineOnly(place: string): string {
  return `'${place}' is an address, which the engine of this model must not fetch. Send the content inline, as a data URL.`;
}

/** Members of every request's body to the target in addition to its caller's; most often only the operator's. */
function membersAdded({ body, child }: ForwardOrder, members: BodyMembers | undefined): ForwardOrder['body'] {
  if (members?.with === undefined && child === null) return body;
  return { ...members?.with, ...body, ...(child !== null && childFields(child)) };
}

/** Members of a body with its betas, if they are in the body, and without those that no beta opens. */
export function membersFor(
  members: BodyMembers | undefined,
  betas = '',
): { members: BodyMembers | undefined; losses: Loss[] } {
  const pattern = members?.betas ?? members?.headerBetas;
  if (members === undefined || pattern === undefined) return { members, losses: [] };
  const { names, known } = knownBetas(betas, pattern);
  const shut = Object.entries(members.opened ?? {}).filter(([, beta]) => !known.some((name) => beta.test(name)));
  const inBody = members.betas !== undefined;
  return {
    members: {
      ...members,
      without: [...(members.without ?? []), ...shut.map(([name]) => name)],
      ...(inBody && known.length > 0 && { with: { ...members.with, anthropic_beta: [...known] } }),
    },
    losses: inBody && known.length < names.length ? [{ field: 'anthropic-beta', why: 'narrowed' }] : [],
  };
}

const usageOption = { stream_options: { include_usage: true } };

function childFields(child: { seed: number | null }): Record<string, unknown> {
  return child.seed === null ? { n: 1 } : { n: 1, seed: child.seed };
}
