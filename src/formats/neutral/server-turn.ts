import type { JsonObject } from '../../kernel/json.ts';
import type { Loss } from './loss.ts';
import type { NeutralMessage, NeutralRequest, NeutralTool } from './request.ts';

/** One turn of a model whose server tools this gateway runs. Plain data. */
export interface ServerTurn {
  /** Functions that the model sees for the tools. */
  offered: readonly NeutralTool[];
  /** Fields of the request that they replace, as losses name them. */
  fields: readonly string[];
  /** Turns of the model, and what it was given, since the caller's own messages. */
  messages: readonly NeutralMessage[];
  /** `free`: a call that the caller demanded has been made. An object: the function that the model must call. */
  choice: 'as asked' | 'free' | 'none' | 'required' | { name: string };
  /** Parts of results that the model does not get; absent: it gets all. */
  lost?: readonly Loss[];
}

/** The request as the model gets it in this turn: nothing that the functions replace is left in it, or counts as lost. */
export function withServerTurn(request: NeutralRequest, turn: ServerTurn): NeutralRequest {
  const { offered, fields, messages, choice } = turn;
  const next: NeutralRequest = {
    ...request,
    messages: messages.length === 0 ? request.messages : [...request.messages, ...messages],
    tools: [...(request.tools ?? []), ...offered],
  };
  if (typeof choice === 'object') next.toolChoice = { type: 'tool', name: choice.name };
  else if (choice === 'none' || choice === 'required') next.toolChoice = { type: choice };
  else if (choice === 'free' && (next.toolChoice?.type === 'required' || next.toolChoice?.type === 'tool')) {
    delete next.toolChoice;
  }
  const replaced = new Set(fields);
  if (next.lost !== undefined) next.lost = next.lost.filter(({ field }) => !replaced.has(field));
  if (turn.lost !== undefined) next.lost = [...(next.lost ?? []), ...turn.lost];
  if (next.extensions !== undefined) {
    next.extensions = Object.fromEntries(
      Object.entries(next.extensions).map(([dialect, members]) => [dialect, without(members, replaced)]),
    );
  }
  return next;
}

function without(members: JsonObject, names: ReadonlySet<string>): JsonObject {
  return Object.fromEntries(Object.entries(members).filter(([name]) => !names.has(name)));
}
