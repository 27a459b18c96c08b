import type { Loss } from './loss.ts';
import type { NeutralMessage, NeutralPart } from './request.ts';
import type { ServerTurn } from './server-turn.ts';
import { estimatedTokens } from './usage.ts';

/** Kinds of media that a target reads. */
export interface TakenMedia {
  image: boolean;
  audio: boolean;
}

/**
 * The turn for a target: where it does not read a picture or a sound that a tool returned, a word is in its place, and
 * the turn names the loss.
 */
export function withTakenMedia(turn: ServerTurn, takes: TakenMedia): ServerTurn {
  const lost = new Set<keyof TakenMedia>();
  const taken = (part: NeutralPart): NeutralPart => {
    if ((part.type !== 'image' && part.type !== 'audio') || takes[part.type]) return part;
    lost.add(part.type);
    return { type: 'text', text: `[${part.type}]` };
  };
  const messages = turn.messages.map((message) => ({
    ...message,
    parts: message.parts.map((part) =>
      part.type === 'tool-result' ? { ...part, parts: part.parts.map(taken) } : part,
    ),
  }));
  if (lost.size === 0) return turn;
  // Only results of MCP servers have media.
  const field = turn.fields.find((name) => /\bmcp/.test(name)) ?? 'tools.mcp';
  return { ...turn, messages, lost: [...(turn.lost ?? []), ...[...lost].map((kind) => mediaLoss(field, kind))] };
}

/** The loss of media that the tool of this field returned. */
export function mediaLoss(field: string, kind: keyof TakenMedia): Loss {
  return { field: `${field}.${kind}`, why: 'unsupported' };
}

/** A picture by Anthropic's rule, the largest it does not shrink. */
const pictureTokens = 1_590;

/** Tokens of such messages, roughly: bytes of media are no text. */
export function estimatedTokensOf(messages: readonly NeutralMessage[]): number {
  let media = 0;
  const text = JSON.stringify(messages, (_, value: NeutralPart | null) => {
    if (value?.type === 'image') media += pictureTokens;
    else if (value?.type === 'audio') media += estimatedTokens(value.base64.length / 16);
    else return value;
    return null;
  });
  return media + estimatedTokens(text.length);
}
