import { type Failure, factsOf, invalid } from '../../kernel/failure.ts';
import { isObject } from '../../kernel/json.ts';
import type { NeutralEvent } from '../neutral/event.ts';
import type { NeutralPart, NeutralTool } from '../neutral/request.ts';
import type {
  FileSearchTool,
  ServerCall,
  ServerResult,
  ServerSource,
  ServerToolStep,
  ServerToolsAsked,
  WebSearchTool,
} from '../neutral/server-tool.ts';
import type { ServerTurn } from '../neutral/server-turn.ts';
import { type OfferedTool, offeredSearches } from './offered-tools.ts';
import { markOf, type SourceMarks } from './source-marks.ts';
import type { ServerToolPorts, ToolOwner } from './tool-ports.ts';
import type { TurnCall } from './turn-reader.ts';

/** Calls of all tools for one answer, where the caller does not say less. */
const callsMaxOfAll = 32;
/** The longest that one call may take. */
const callTimeoutMs = 60_000;

export interface ToolRun {
  ports: ServerToolPorts;
  asked: ServerToolsAsked;
  owner: ToolOwner;
  marks: SourceMarks;
  /** Ms until the whole answer must be there. */
  leftMs(): number;
  /** Nobody waits for the answer any more. */
  signal: AbortSignal;
}

/** The results of one turn's calls. */
export interface TurnResults {
  /** One a call, for the model. */
  parts: NeutralPart[];
  /** Milli-units that the calls cost. */
  costMilli: number;
  /** The request itself is wrong: a collection is missing. Null: it is not. */
  wrong: Failure | null;
}

/** Runs the tools of one answer, and counts their calls. */
export class ToolRunner {
  /** Searches of the web that were made. */
  webSearches = 0;
  readonly #run: ToolRun;
  readonly #offered = new Map<string, OfferedTool>();
  readonly #callsOf = new Map<OfferedTool, number>();
  #calls = 0;

  constructor(run: ToolRun) {
    this.#run = run;
    for (const one of offeredSearches(run.asked)) this.#offered.set(one.function.name, one);
  }

  get offered(): NeutralTool[] {
    return [...this.#offered.values()].map((one) => one.function);
  }

  /** Whether a function is one of these, and not the caller's own. */
  has(name: string): boolean {
    return this.#offered.has(name);
  }

  /** What the model must call in its first turn. */
  get choice(): ServerTurn['choice'] {
    const { choice } = this.#run.asked;
    const demanded = [...this.#offered.values()].find(({ of }) => of.kind === choice);
    return demanded === undefined ? 'as asked' : { name: demanded.function.name };
  }

  /** No further call is allowed. */
  get isSpent(): boolean {
    return this.#calls >= this.#callsMax;
  }

  get #callsMax(): number {
    return Math.min(callsMaxOfAll, this.#run.asked.callsMax ?? callsMaxOfAll);
  }

  /** Runs all calls of a turn beside each other; `show` gets what happens as it happens. */
  async run(calls: readonly TurnCall[], show: (events: readonly NeutralEvent[]) => void): Promise<TurnResults> {
    const done = await Promise.all(calls.map((call) => this.#answer(call, show)));
    return {
      parts: done.map(({ part }) => part),
      costMilli: done.reduce((sum, { costMilli }) => sum + costMilli, 0),
      wrong: done.find(({ wrong }) => wrong !== null)?.wrong ?? null,
    };
  }

  async #answer(
    call: TurnCall,
    show: (events: readonly NeutralEvent[]) => void,
  ): Promise<{ part: NeutralPart; costMilli: number; wrong: Failure | null }> {
    const tool = this.#offered.get(call.name)!;
    const refused = (text: string) => ({ part: partOf(call, text, 'failed'), costMilli: 0, wrong: null });
    const query = queryIn(call.argumentsJson);
    if (query === null) return refused("Call it with an object that has a text as 'query'.");
    if (!this.#mayCall(tool)) return refused('No further call of it is allowed. Answer with what you have.');
    const made = this.#serverCall(tool, query);
    const tell = (step: ServerToolStep) => show([{ type: 'server-tool', choice: 0, step }]);
    tell({ at: 'called', call: made });
    const { result, costMilli, wrong } = await this.#search(tool.of as WebSearchTool | FileSearchTool, query);
    tell({ at: 'done', call: made, result });
    return { part: partOf(call, result.text, result.failure === null ? 'worked' : 'failed'), costMilli, wrong };
  }

  #mayCall(tool: OfferedTool): boolean {
    const made = this.#callsOf.get(tool) ?? 0;
    if (this.isSpent || made >= (tool.of.callsMax ?? Number.POSITIVE_INFINITY)) return false;
    this.#calls++;
    this.#callsOf.set(tool, made + 1);
    return true;
  }

  #serverCall({ of }: OfferedTool, query: string): ServerCall {
    const { requestId } = this.#run.owner;
    const id = `${requestId.slice('req_'.length).replaceAll('-', '')}_${this.#calls}`;
    return of.kind === 'web_search' ? { kind: of.kind, id, query } : { kind: 'file_search', id, query };
  }

  async #search(
    of: WebSearchTool | FileSearchTool,
    query: string,
  ): Promise<{ result: ServerResult; costMilli: number; wrong: Failure | null }> {
    const { ports, owner, marks, leftMs, signal } = this.#run;
    const timeout = AbortSignal.timeout(Math.max(1, Math.min(callTimeoutMs, leftMs())));
    const until = AbortSignal.any([signal, timeout]);
    if (of.kind === 'web_search') this.webSearches++;
    const found =
      of.kind === 'web_search'
        ? await ports.searchWeb(owner, query, of, until)
        : await ports.searchFiles(owner, query, of, until);
    if ('kind' in found) {
      const isWrong = of.kind === 'file_search' && (found.kind === 'not-found' || found.kind === 'invalid-request');
      return {
        result: failed(found),
        costMilli: 0,
        wrong: isWrong ? invalid(of.field, factsOf(found, 0).message) : null,
      };
    }
    const first = marks.sources.length;
    marks.sources.push(...found.sources);
    const text = found.sources.length === 0 ? 'Nothing was found.' : textOf(found.sources, first);
    return { result: { failure: null, sources: found.sources, text }, costMilli: found.costMilli, wrong: null };
  }
}

function failed(failure: Failure): ServerResult {
  const { message } = factsOf(failure, 0);
  return { failure: message, sources: [], text: `The search failed: ${message}` };
}

function partOf(call: TurnCall, text: string, how: 'worked' | 'failed'): NeutralPart {
  return { type: 'tool-result', callId: call.id, parts: [{ type: 'text', text }], isError: how === 'failed' };
}

function queryIn(argumentsJson: string): string | null {
  try {
    const value: unknown = JSON.parse(argumentsJson);
    return isObject(value) && typeof value.query === 'string' && value.query.trim() !== '' ? value.query.trim() : null;
  } catch {
    return null;
  }
}

function textOf(sources: readonly ServerSource[], first: number): string {
  return sources
    .map(({ url, title, age, quote }, at) =>
      [`${markOf(first + at)} ${title}`, url, age, quote].filter((line) => line !== null && line !== '').join('\n'),
    )
    .join('\n\n');
}
