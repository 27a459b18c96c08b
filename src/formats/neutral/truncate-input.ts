import type { NeutralMessage, NeutralPart, NeutralRequest } from './request.ts';
import { estimatedTokens } from './usage.ts';

/** Estimates may be this far too low for prose and code. */
const usableShare = 0.9;
/** For the answer, where the caller sets no bound. */
const outputTokensDefault = 4_096;
const wrappingTokens = 4;
/** A picture, or a page of a document. */
const mediaTokens = 1_590;

/** Indexes of the messages that stay, in order; null: the input fits as it is. */
export function truncatedInput(request: NeutralRequest, contextWindow: number): readonly number[] | null {
  const { messages, maxOutputTokens = outputTokensDefault } = request;
  const room = contextWindow * usableShare - Math.min(maxOutputTokens, contextWindow / 2);
  const sizes = messages.map(({ parts }) => wrappingTokens + sumOf(parts.map(tokensOf)));
  let left = sumOf(sizes) + (request.tools === undefined ? 0 : estimatedTokens(JSON.stringify(request.tools).length));
  if (left <= room) return null;
  const dropped = new Set<number>();
  for (const unit of droppableUnits(messages)) {
    if (left <= room) break;
    for (const index of unit) {
      dropped.add(index);
      left -= sizes[index] ?? 0;
    }
  }
  return dropped.size === 0 ? null : [...messages.keys()].filter((index) => !dropped.has(index));
}

/**
 * Messages that go together, the oldest first: earlier turns of the user with all that answered them, then calls of the
 * present turn with their results. Instructions, the user's last words and what came last of all stay.
 */
function droppableUnits(messages: readonly NeutralMessage[]): number[][] {
  const unitOf = unitsByTurn(messages);
  // Of units that were joined: the older one.
  const joined = new Map<number, number>();
  const rootOf = (unit: number): number => {
    let root = unit;
    for (let next = joined.get(root); next !== undefined; next = joined.get(root)) root = next;
    if (root !== unit) joined.set(unit, root);
    return root;
  };
  const unitOfCall = new Map<string, number>();
  for (const [index, { parts }] of messages.entries()) {
    const unit = unitOf[index];
    if (unit === undefined) continue;
    for (const part of parts) {
      if (part.type === 'tool-call') unitOfCall.set(part.id, unit);
      if (part.type !== 'tool-result') continue;
      // A result stays with its call, wherever it is.
      const [mine, calls] = [rootOf(unit), rootOf(unitOfCall.get(part.callId) ?? unit)];
      if (mine !== calls) joined.set(Math.max(mine, calls), Math.min(mine, calls));
    }
  }
  const units = new Map<number, number[]>();
  for (const [index, unit] of unitOf.entries()) {
    if (unit === undefined) continue;
    const root = rootOf(unit);
    const members = units.get(root);
    if (members === undefined) units.set(root, [index]);
    else members.push(index);
  }
  const newest = unitOf.at(-1);
  if (newest !== undefined) units.delete(rootOf(newest));
  return [...units.values()];
}

/** The unit of each message, as the index of its first one; undefined: it stays. */
function unitsByTurn(messages: readonly NeutralMessage[]): (number | undefined)[] {
  const lastUserTurn = messages.findLastIndex(({ role }) => role === 'user');
  let unit = -1;
  let before: NeutralMessage['role'] | null = null;
  return messages.map(({ role }, index) => {
    if (role === 'system' || role === 'developer' || index === lastUserTurn) return undefined;
    const begins = index < lastUserTurn ? 'user' : 'assistant';
    const isNext = unit < lastUserTurn && index > lastUserTurn;
    if (unit < 0 || isNext || (role === begins && before !== begins)) unit = index;
    before = role;
    return unit;
  });
}

function tokensOf(part: NeutralPart): number {
  switch (part.type) {
    case 'text':
    case 'refusal':
    case 'reasoning':
      return estimatedTokens(Buffer.byteLength(part.text));
    case 'tool-call':
      return estimatedTokens(part.name.length + Buffer.byteLength(part.argumentsJson));
    case 'tool-result':
      return sumOf(part.parts.map(tokensOf));
    case 'document': {
      const { source } = part;
      if (source.kind !== 'base64' || !source.mediaType.startsWith('text/')) return mediaTokens;
      return estimatedTokens(Buffer.byteLength(source.base64, 'base64'));
    }
    case 'image':
      return mediaTokens;
    case 'audio':
      return Math.min(mediaTokens, estimatedTokens(part.base64.length));
    default:
      return estimatedTokens(JSON.stringify(part).length);
  }
}

function sumOf(counts: readonly number[]): number {
  return counts.reduce((sum, count) => sum + count, 0);
}
