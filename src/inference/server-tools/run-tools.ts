import type { NeutralEvent } from '../../formats/neutral/event.ts';
import type { Loss } from '../../formats/neutral/loss.ts';
import type { NeutralMessage, NeutralPart, NeutralTool } from '../../formats/neutral/request.ts';
import {
  deniedText,
  type FileSearchTool,
  type McpServerTool,
  type RequestedServerTools,
  type ServerCall,
  type ServerResult,
  type ServerSource,
  type ServerToolStep,
  type WebFetchTool,
  type WebSearchTool,
} from '../../formats/neutral/server-tool.ts';
import type { ServerTurn } from '../../formats/neutral/server-turn.ts';
import { type Failure, invalid, isFailure } from '../../kernel/failure.ts';
import { factsOf } from '../../kernel/failure-facts.ts';
import { type JsonObject, parsedData } from '../../kernel/json.ts';
import { knownEntry } from '../../kernel/known-entry.ts';
import { PageFetches } from './fetch-pages.ts';
import { needsApproval, type OpenedServers, openServers } from './mcp-servers.ts';
import { FunctionNames, type OfferedTool, offeredSearches } from './offered-tools.ts';
import { ResultMedia } from './result-media.ts';
import { type SourceMarks, sourceText } from './source-marks.ts';
import type { CallBounds, ServerToolPorts, ToolOwner } from './tool-ports.ts';
import type { TurnCall } from './turn-reader.ts';

/** Calls of all tools for one answer, where the caller does not say less. */
const callsMaxOfAll = 32;
/** The longest that one call may take. */
const callTimeoutMs = 60_000;

export interface ToolRun {
  ports: ServerToolPorts;
  requested: RequestedServerTools;
  owner: ToolOwner;
  marks: SourceMarks;
  /** Ms until the whole answer must be there. */
  leftMs(): number;
  /** Aborts when nobody waits for the answer any more. */
  signal: AbortSignal;
  /** Steps of the request: each gives the text as the model or the caller may have it, or refuses. */
  read: {
    turns(messages: readonly NeutralMessage[]): Promise<readonly NeutralMessage[] | Failure>;
    tools(tools: readonly NeutralTool[]): Promise<readonly NeutralTool[] | Failure>;
    /** Arguments of a call that the caller has approved. */
    arguments(argumentsJson: string): string | Failure;
    /** Results and lists as the caller may see them. */
    result(result: ServerResult): Promise<ServerResult | Failure>;
    list(step: ServerToolStep): Promise<ServerToolStep | Failure>;
  };
  /** Shows the caller what happens. */
  show(events: readonly NeutralEvent[]): void;
}

/** The results of one turn's calls. */
export interface TurnResults {
  /** Results for the model, one for each call that needs no approval. */
  parts: NeutralPart[];
  /** Milli-units that the calls cost. */
  costMilli: number;
  /** The request itself is wrong: a collection is missing. Null: it is not. */
  wrong: Failure | null;
  /** Calls wait for the caller's word: the answer ends here. */
  waits: boolean;
}

interface CallEnd {
  /** Null: it waits for the caller's word. */
  part: NeutralPart | null;
  costMilli: number;
  wrong: Failure | null;
}

interface Searched extends Omit<CallEnd, 'part'> {
  result: ServerResult;
}

/** Runs the tools of one answer, and counts their calls. */
export class ToolRunner {
  /** Searches of the web that were made. */
  webSearches = 0;
  readonly #run: ToolRun;
  readonly #offered = new Map<string, OfferedTool>();
  readonly #callsOf = new Map<OfferedTool['of'], number>();
  readonly #pages: PageFetches;
  readonly #media = new ResultMedia();
  #calls = 0;
  #ids = 0;
  #servers: OpenedServers | null = null;
  readonly #listed: NeutralEvent[] = [];

  constructor(run: ToolRun) {
    this.#run = run;
    this.#pages = new PageFetches(run.ports, run.owner, run.marks);
  }

  /** Pages of the web that were read, or asked for in vain. */
  get webFetches(): number {
    return this.#pages.count;
  }

  /** Before all else. Null: the tools are there; otherwise why a server's are not. */
  async open(): Promise<Failure | null> {
    const { requested, ports, owner } = this.#run;
    const names = new FunctionNames(requested.clientToolNames);
    this.#offer(offeredSearches(requested, names));
    const servers = requested.tools.filter((tool): tool is McpServerTool => tool.kind === 'mcp');
    if (servers.length === 0) return null;
    const opened = await openServers(ports, owner, servers, names, this.#bounds());
    if (isFailure(opened)) return opened;
    this.#servers = opened;
    for (const step of opened.steps) {
      const shown = await this.#run.read.list(step);
      if (isFailure(shown)) return shown;
      this.#listed.push({ type: 'server-tool', choice: 0, step: shown });
    }
    const functions = await this.#run.read.tools(opened.offered.map((one) => one.function));
    if (isFailure(functions)) return functions;
    this.#offer(opened.offered.map((one, at) => ({ ...one, function: functions[at] ?? one.function })));
    if (requested.choice !== 'mcp' || this.#demanded.length > 0) return null;
    return invalid('tool_choice', "'tool_choice' names a tool that none of the MCP servers offers to this request.");
  }

  async close(): Promise<void> {
    await this.#servers?.close();
  }

  /** Events that show the caller the lists of MCP servers, before the first turn. */
  get listed(): readonly NeutralEvent[] {
    return this.#listed;
  }

  /** The functions of a turn: the first one has no others of MCP servers where the caller demands a call of one. */
  offeredAt(choice: ServerTurn['choice']): NeutralTool[] {
    return (choice === 'required' ? this.#demanded : [...this.#offered.values()]).map((one) => one.function);
  }

  /** Parts of results so far that the model does not get. */
  get lost(): readonly Loss[] {
    return this.#media.lost;
  }

  /** Whether a function is one of these, and not the caller's own. */
  has(name: string): boolean {
    return this.#offered.has(name);
  }

  /** The tool that the model must call in its first turn. */
  get choice(): ServerTurn['choice'] {
    const [demanded, ...others] = this.#demanded;
    if (demanded === undefined) return 'as asked';
    return others.length > 0 ? 'required' : { name: demanded.function.name };
  }

  get #demanded(): OfferedTool[] {
    const { choice, server } = this.#run.requested;
    return [...this.#offered.values()].filter(({ of, mcp }) => {
      if (of.kind !== 'mcp' || server === undefined) return of.kind === choice;
      return choice === 'mcp' && of.label === server.label && (server.name ?? mcp?.name) === mcp?.name;
    });
  }

  /** No further call is allowed. */
  get isSpent(): boolean {
    return this.#calls >= Math.min(callsMaxOfAll, this.#run.requested.callsMax ?? callsMaxOfAll);
  }

  /** Runs all calls of a turn in parallel. */
  async run(calls: readonly TurnCall[]): Promise<TurnResults> {
    const done = await Promise.all(calls.map((call) => this.#answer(call)));
    const parts = done.flatMap(({ part }) => (part === null ? [] : [part]));
    return {
      parts,
      costMilli: done.reduce((sum, { costMilli }) => sum + costMilli, 0),
      wrong: done.find(({ wrong }) => wrong !== null)?.wrong ?? null,
      waits: parts.length < calls.length,
    };
  }

  /** Makes the calls that the caller has approved, and tells the model of all that it was asked about. */
  async approved(): Promise<{ messages: NeutralMessage[]; costMilli: number; wrong: Failure | null }> {
    const messages: NeutralMessage[] = [];
    let costMilli = 0;
    let wrong: Failure | null = null;
    for (const { id, label, name, argumentsJson, approve } of this.#run.requested.approvals ?? []) {
      const all = [...this.#offered.values()];
      const tool = all.find(({ of, mcp }) => of.kind === 'mcp' && of.label === label && mcp?.name === name);
      const call: TurnCall = { id, name: tool?.function.name ?? `${label}__${name}`, argumentsJson };
      let part = partOf(call, tool === undefined ? 'There is no such tool.' : deniedText);
      if (approve && tool?.mcp !== undefined) {
        const given = this.#run.read.arguments(argumentsJson);
        if (isFailure(given)) return { messages, costMilli, wrong: wrong ?? given };
        const end = await this.#callServer({ ...call, argumentsJson: given }, tool, id);
        costMilli += end.costMilli;
        wrong ??= end.wrong;
        part = end.part ?? part;
      }
      messages.push({ role: 'assistant', parts: [{ type: 'tool-call', ...call }] }, { role: 'tool', parts: [part] });
    }
    return { messages, costMilli, wrong };
  }

  #offer(tools: readonly OfferedTool[]): void {
    for (const one of tools) this.#offered.set(one.function.name, one);
  }

  #bounds(): CallBounds {
    const { leftMs, signal } = this.#run;
    // Whole: a signal takes no part of a millisecond.
    return { timeoutMs: Math.max(1, Math.ceil(Math.min(callTimeoutMs, leftMs()))), signal };
  }

  #until(): AbortSignal {
    const { signal, timeoutMs } = this.#bounds();
    return AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  }

  #showStep(step: ServerToolStep): void {
    this.#run.show([{ type: 'server-tool', choice: 0, step }]);
  }

  #answer(call: TurnCall): Promise<CallEnd> | CallEnd {
    const tool = knownEntry(this.#offered, call.name);
    if (tool.mcp !== undefined) return this.#callServer(call, tool, null);
    return tool.of.kind === 'web_fetch' ? this.#fetch(call, tool.of) : this.#search(call, tool);
  }

  async #callServer(call: TurnCall, { of, mcp }: OfferedTool, approvalId: string | null): Promise<CallEnd> {
    const { label } = of as McpServerTool;
    const { name, session } = mcp!;
    const args = objectIn(call.argumentsJson);
    if (args === null) return refused(call, 'The arguments must be a JSON object.');
    const { argumentsJson } = call;
    if (approvalId === null && needsApproval(of as McpServerTool, { name, session })) {
      this.#showStep({ at: 'approval', call: { kind: 'mcp', id: call.id, label, name, argumentsJson, approvalId } });
      return { part: null, costMilli: 0, wrong: null };
    }
    const made: ServerCall = { kind: 'mcp', id: this.#newId(), label, name, argumentsJson, approvalId };
    if (!this.#begins(of, made)) return refused(call, noFurtherCall);
    const { parts, lost, text, isError, costMilli } = await session.call(name, args, this.#bounds());
    for (const kind of lost) this.#media.lose(of.field, kind);
    const bounded = this.#media.bounded(of.field, parts);
    const part: NeutralPart = { type: 'tool-result', callId: call.id, parts: bounded, isError };
    const result = { failure: isError ? text : null, sources: [], text };
    return this.#ended({ call: made, result }, { part, costMilli, wrong: null });
  }

  /** A call that was made: steps read its result before the model and the caller get it. */
  async #ended(
    done: { call: ServerCall; result: ServerResult },
    end: CallEnd & { part: NeutralPart },
  ): Promise<CallEnd> {
    const read = await this.#run.read.turns([{ role: 'tool', parts: [end.part] }]);
    if (isFailure(read)) return { ...end, wrong: end.wrong ?? read };
    const result = await this.#run.read.result(done.result);
    if (isFailure(result)) return { ...end, wrong: end.wrong ?? result };
    this.#cite(done.result.sources, result.sources);
    this.#showStep({ at: 'done', call: done.call, result });
    return { ...end, part: read[0]?.parts[0] ?? end.part };
  }

  /** Citations name the sources as the caller sees them. */
  #cite(found: readonly ServerSource[], shown: readonly ServerSource[]): void {
    const { sources } = this.#run.marks;
    for (const [at, { url, title }] of found.entries()) {
      const as = shown[at];
      if (as === undefined || (as.url === url && as.title === title)) continue;
      for (const [place, source] of sources.entries()) {
        if (source.url === url && source.title === title)
          sources[place] = { ...source, url: as.url, title: as.title, quote: source.quote === '' ? '' : as.quote };
      }
    }
  }

  async #search(call: TurnCall, { of }: OfferedTool): Promise<CallEnd> {
    const query = objectIn(call.argumentsJson)?.query;
    if (typeof query !== 'string' || query.trim() === '') {
      return refused(call, "Call it with an object that has a text as 'query'.");
    }
    const kind = of.kind === 'web_search' ? of.kind : 'file_search';
    const made: ServerCall = { kind, id: this.#newId(), query: query.trim() };
    if (!this.#begins(of, made)) return refused(call, noFurtherCall);
    const { result, costMilli, wrong } = await this.#find(of as WebSearchTool | FileSearchTool, query.trim());
    const part = partOf(call, result.text, result.failure === null ? 'worked' : 'failed');
    return this.#ended({ call: made, result }, { part, costMilli, wrong });
  }

  async #fetch(call: TurnCall, of: WebFetchTool): Promise<CallEnd> {
    const url = objectIn(call.argumentsJson)?.url;
    if (typeof url !== 'string' || url.trim() === '') {
      return refused(call, "Call it with an object that has an address as 'url'.");
    }
    const made: ServerCall = { kind: 'web_fetch', id: this.#newId(), url: url.trim() };
    if (!this.#begins(of, made)) return refused(call, noFurtherCall);
    const { result, costMilli } = await this.#pages.fetch(of, made.url, this.#until());
    const part = partOf(call, result.text, result.failure === null ? 'worked' : 'failed');
    return this.#ended({ call: made, result }, { part, costMilli, wrong: null });
  }

  /** Counts the call and tells the caller of it. False: it may not be made any more. */
  #begins(of: OfferedTool['of'], call: ServerCall): boolean {
    if (this.isSpent) return false;
    const made = this.#callsOf.get(of) ?? 0;
    const isAllowed = made < (of.callsMax ?? Number.POSITIVE_INFINITY);
    this.#showStep({ at: 'called', call });
    if (isAllowed) {
      this.#calls++;
      this.#callsOf.set(of, made + 1);
    } else {
      const result = { failure: noFurtherCall, code: 'max_uses_exceeded', sources: [], text: noFurtherCall } as const;
      this.#showStep({ at: 'done', call, result });
    }
    return isAllowed;
  }

  #newId(): string {
    const { requestId } = this.#run.owner;
    return `${requestId.slice('req_'.length).replaceAll('-', '')}_${++this.#ids}`;
  }

  async #find(of: WebSearchTool | FileSearchTool, query: string): Promise<Searched> {
    const { ports, owner, marks } = this.#run;
    const until = this.#until();
    if (of.kind === 'web_search') this.webSearches++;
    const found =
      of.kind === 'web_search'
        ? await ports.searchWeb(owner, query, of, until)
        : await ports.searchFiles(owner, query, of, until);
    if (isFailure(found)) return searchFailed(found, of);
    const first = marks.sources.length;
    marks.sources.push(...found.sources);
    if (of.kind === 'web_search') this.#pages.addSources(found.sources);
    const texts = found.sources.map((source, at) => sourceText(source, first + at));
    const text = texts.length === 0 ? 'Nothing was found.' : texts.join('\n\n');
    const result = { failure: null, sources: found.sources, text };
    return { result, costMilli: found.costMilli, wrong: null };
  }
}

const noFurtherCall = 'No further call of it is allowed. Answer with what you have.';

function refused(call: TurnCall, text: string): CallEnd {
  return { part: partOf(call, text), costMilli: 0, wrong: null };
}

function searchFailed(failure: Failure, { kind, field }: WebSearchTool | FileSearchTool): Searched {
  const { message } = factsOf(failure, 0);
  const result = { failure: message, sources: [], text: `The search failed: ${message}` };
  // Collections are the caller's own word, not the model's.
  const isWrong = kind === 'file_search' && (failure.kind === 'not-found' || failure.kind === 'invalid-request');
  return { result, costMilli: 0, wrong: isWrong ? invalid(field, message) : null };
}

function partOf(call: TurnCall, text: string, how: 'worked' | 'failed' = 'failed'): NeutralPart {
  return { type: 'tool-result', callId: call.id, parts: [{ type: 'text', text }], isError: how === 'failed' };
}

function objectIn(argumentsJson: string): JsonObject | null {
  return parsedData(argumentsJson.trim() === '' ? '{}' : argumentsJson);
}
