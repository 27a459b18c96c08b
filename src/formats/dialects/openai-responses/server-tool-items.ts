import type { JsonObject } from '../../../kernel/json.ts';
import type { ServerCall, ServerResult, ServerToolStep } from '../../neutral/server-tool.ts';
import type { AnswerEvents } from './answer-events.ts';
import type { WholeItem } from './response-object.ts';

/** Parts of such items that are sent only to callers who ask for them, in `include`. */
export interface Included {
  /** `web_search_call.action.sources` */
  pages: boolean;
  /** `file_search_call.results` */
  passages: boolean;
}

/** Reads the echo that `echoOf` wrote. */
export function includedOf(echo: JsonObject | undefined): Included {
  const include = Array.isArray(echo?.include) ? echo.include : [];
  return {
    pages: include.includes('web_search_call.action.sources'),
    passages: include.includes('file_search_call.results'),
  };
}

/** Answer that contains the items. */
export interface ItemPlace {
  /** An item at the end of the answer, whose content may yet change. */
  opened(prefix: string, wire: JsonObject): WholeItem;
  done(item: WholeItem): void;
}

/** Items of an answer for tools that this gateway runs; their events are OpenAI's. */
export class ServerToolItems {
  readonly #place: ItemPlace;
  readonly #events: AnswerEvents | null;
  readonly #included: Included;
  /** Calls that run, by their id. */
  readonly #running = new Map<string, WholeItem>();

  /** `events` null makes no frames. */
  constructor(place: ItemPlace, events: AnswerEvents | null, included: Included) {
    this.#place = place;
    this.#events = events;
    this.#included = included;
  }

  take(step: ServerToolStep): void {
    switch (step.at) {
      case 'called': {
        const { type, prefix, wire } = runningItem(step.call);
        const item = this.#place.opened(prefix, wire);
        this.#running.set(step.call.id, item);
        this.#events?.step(`${type}.in_progress`, item);
        if (step.call.kind === 'mcp') this.#events?.mcpArguments(item, step.call.argumentsJson);
        else this.#events?.step(`${type}.searching`, item);
        return;
      }
      case 'done': {
        const item = this.#running.get(step.call.id);
        if (item === undefined) return;
        const { type } = runningItem(step.call);
        item.wire = ranItem(step.call, step.result, this.#included);
        const failed = step.result.failure !== null && step.call.kind === 'mcp';
        this.#events?.step(`${type}.${failed ? 'failed' : 'completed'}`, item);
        return this.#place.done(item);
      }
      case 'listed': {
        const { label, tools, failure } = step;
        const wire: JsonObject = { type: 'mcp_list_tools', server_label: label, tools: [] };
        const item = this.#place.opened('mcpl', wire);
        this.#events?.step('mcp_list_tools.in_progress', item);
        item.wire = { ...wire, tools: [...tools], ...(failure !== null && { error: failure }) };
        this.#events?.step(`mcp_list_tools.${failure === null ? 'completed' : 'failed'}`, item);
        return this.#place.done(item);
      }
      case 'approval': {
        const { label, name, argumentsJson } = step.call;
        const wire = { type: 'mcp_approval_request', server_label: label, name, arguments: argumentsJson };
        return this.#place.done(this.#place.opened('mcpr', wire));
      }
    }
  }
}

/** The item of a call that runs: `type` as in its events, `prefix` of its id. */
function runningItem(call: ServerCall): { type: string; prefix: string; wire: JsonObject } {
  switch (call.kind) {
    case 'web_search': {
      const wire = { type: 'web_search_call', status: 'in_progress', action: actionOf(call.query) };
      return { type: 'web_search_call', prefix: 'ws', wire };
    }
    case 'web_fetch': {
      // OpenAI's search opens pages too: clients know this action of it.
      const wire = { type: 'web_search_call', status: 'in_progress', action: { type: 'open_page', url: call.url } };
      return { type: 'web_search_call', prefix: 'ws', wire };
    }
    case 'file_search': {
      const wire = { type: 'file_search_call', status: 'in_progress', queries: [call.query], results: null };
      return { type: 'file_search_call', prefix: 'fs', wire };
    }
    case 'mcp':
      return { type: 'mcp_call', prefix: 'mcp', wire: { ...mcpCall(call), arguments: '', output: null, error: null } };
  }
}

/** The same item, done. */
function ranItem(call: ServerCall, { failure, sources, text }: ServerResult, included: Included): JsonObject {
  const status = failure === null ? 'completed' : 'failed';
  switch (call.kind) {
    case 'web_search': {
      const pages = sources.map(({ url }) => ({ type: 'url', url }));
      const action = { ...actionOf(call.query), ...(included.pages && { sources: pages }) };
      return { type: 'web_search_call', status, action };
    }
    case 'web_fetch':
      return { type: 'web_search_call', status, action: { type: 'open_page', url: call.url } };
    case 'file_search': {
      const results = sources.map(({ fileId, title, score, quote, attributes }) => ({
        file_id: fileId ?? '',
        filename: title,
        score: score ?? 0,
        text: quote,
        attributes,
      }));
      return { type: 'file_search_call', status, queries: [call.query], results: included.passages ? results : null };
    }
    case 'mcp': {
      const result = failure === null ? { output: text, error: null } : { output: null, error: failure };
      return { ...mcpCall(call), status, arguments: call.argumentsJson, ...result };
    }
  }
}

function actionOf(query: string): JsonObject {
  return { type: 'search', query, queries: [query] };
}

function mcpCall({ label, name, approvalId }: Extract<ServerCall, { kind: 'mcp' }>): JsonObject {
  return { type: 'mcp_call', status: 'in_progress', server_label: label, name, approval_request_id: approvalId };
}
