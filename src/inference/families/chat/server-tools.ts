import type { CallerDialectId } from '../../../formats/dialects/dialect.ts';
import type { NamedObject } from '../../../formats/dialects/named-objects.ts';
import type { RequestedServerTools, ServerTool } from '../../../formats/neutral/server-tool.ts';
import type { ServerTurn } from '../../../formats/neutral/server-turn.ts';
import { withTakenMedia } from '../../../formats/neutral/turn-media.ts';
import { runsTools } from '../../../formats/providers/runs-tools.ts';
import { type Failure, invalid, isFailure } from '../../../kernel/failure.ts';
import { knownEntry } from '../../../kernel/known-entry.ts';
import { dialectFor } from '../../../routing/capability.ts';
import type { RouteCandidate } from '../../../routing/route.ts';
import type { Target } from '../../../routing/target.ts';
import type { Snapshot } from '../../models/snapshot.ts';
import type { ServerToolPorts } from '../../server-tools/tool-ports.ts';

/** Tools that this gateway runs for a request, at targets that do not run them themselves. */
export interface ToolsHere extends RequestedServerTools {
  /** `needed`: an answer without them would be another one. */
  use: 'needed' | 'wished';
}

/**
 * The part of a request's server tools that this gateway runs; null: none, so that they are passed on to a provider
 * that knows them, and left out elsewhere.
 */
export function toolsHere(
  ports: Pick<ServerToolPorts, 'has'> | null,
  { providers }: Pick<Snapshot, 'providers'>,
  dialect: CallerDialectId,
  { serverTools: requested, n }: { serverTools: RequestedServerTools | Failure; n: number },
  candidates: readonly RouteCandidate[],
): ToolsHere | Failure | null {
  if (isFailure(requested)) {
    const vendorsJudge = dialect !== 'openai-chat' && candidates.every(({ target }) => speaks(target, dialect));
    return vendorsJudge ? null : requested;
  }
  const theirs = candidates.filter(({ target }) => runsItself(providers, dialect, target, requested.tools));
  if (theirs.length === candidates.length) return null;
  const tools = n === 1 && ports !== null ? requested.tools.filter(({ kind }) => ports.has(kind)) : [];
  const missing = requested.tools.find((tool) => !tools.includes(tool));
  // A demanded call is more than a wish.
  if (missing !== undefined && (isOurs(missing, dialect) || requested.choice !== null)) {
    return theirs.length > 0 ? null : nobodyRuns(missing, n);
  }
  if (tools.length === 0) return null;
  const isNeeded = requested.choice !== null || tools.some((tool) => isOurs(tool, dialect));
  return { ...requested, tools, use: isNeeded ? 'needed' : 'wished' };
}

/** The turn for the target, if this gateway runs its tools there, else null. Once it has run one, it runs all. */
export function turnAt(
  providers: Snapshot['providers'],
  dialect: CallerDialectId,
  { tools, use }: ToolsHere,
  turn: ServerTurn,
  target: Target,
): ServerTurn | null {
  const { vision, audioIn, tools: calls } = target.capabilities;
  if (turn.messages.length > 0) {
    // Of the other formats, none takes sound that a tool returned, or few of their models do.
    const takesAudio = audioIn && dialectFor(target, dialect) === 'gemini';
    return withTakenMedia(turn, { image: vision, audio: takesAudio });
  }
  if (runsItself(providers, dialect, target, tools)) return null;
  return use === 'needed' || calls ? turn : null;
}

/** Ids in the request of objects at a provider, without the names of collections here. */
export function namedElsewhere(named: readonly NamedObject[], { tools }: ToolsHere): readonly NamedObject[] {
  const collections = new Set(tools.flatMap((tool) => (tool.kind === 'file_search' ? tool.collections : [])));
  return named.filter(({ id, field }) => !collections.has(id) || !field.includes('vector_store_ids'));
}

function speaks(target: Target, dialect: CallerDialectId): boolean {
  return dialectFor(target, dialect) === dialect;
}

function runsItself(
  providers: Snapshot['providers'],
  dialect: CallerDialectId,
  target: Target,
  tools: readonly ServerTool[],
): boolean {
  if (dialect === 'ollama' || dialect === 'ai-sdk' || dialect === 'cohere-chat' || dialect === 'bedrock-converse')
    return false;
  if (!speaks(target, dialect)) return false;
  return runsTools(knownEntry(providers, target.provider).connection, dialect, target.model, tools);
}

/** Whether nobody but this gateway has a word for the tool in this format. */
function isOurs({ kind, field }: ServerTool, dialect: CallerDialectId): boolean {
  if (kind === 'file_search') return true;
  if (kind === 'web_fetch') return dialect !== 'anthropic-messages';
  return dialect === 'openai-chat' && field !== 'web_search_options';
}

function nobodyRuns({ kind, field }: ServerTool, n: number): Failure {
  if (n > 1)
    return invalid('n', "The tools of this server work with one choice per request. Leave 'n' out, or send 1.");
  const why =
    kind === 'web_search'
      ? 'no search engine is configured here (tools.search.providers)'
      : 'this server has nothing to run it with';
  const [param = ''] = field.split('.', 1);
  return invalid(param, `No provider of this model runs the tool '${kind}', and ${why}.`);
}
