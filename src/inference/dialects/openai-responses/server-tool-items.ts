import type { JsonObject } from '../../../kernel/json.ts';
import type { ServerCall, ServerResult } from '../../neutral/server-tool.ts';

/** Parts of such items that are told only to who asks for them, in `include`. */
export interface Included {
  /** `web_search_call.action.sources` */
  pages: boolean;
  /** `file_search_call.results` */
  passages: boolean;
}

/** As `echoOf` wrote it. */
export function includedOf(echo: JsonObject | undefined): Included {
  const include = Array.isArray(echo?.include) ? echo.include : [];
  return {
    pages: include.includes('web_search_call.action.sources'),
    passages: include.includes('file_search_call.results'),
  };
}

/** The item of a call that runs: `type` as in its events, `prefix` of its id. */
export function runningItem(call: ServerCall): { type: string; prefix: string; wire: JsonObject } {
  switch (call.kind) {
    case 'web_search': {
      const wire = { type: 'web_search_call', status: 'in_progress', action: actionOf(call.query) };
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
export function ranItem(call: ServerCall, { failure, sources, text }: ServerResult, included: Included): JsonObject {
  const status = failure === null ? 'completed' : 'failed';
  switch (call.kind) {
    case 'web_search': {
      const pages = sources.map(({ url }) => ({ type: 'url', url }));
      const action = { ...actionOf(call.query), ...(included.pages && { sources: pages }) };
      return { type: 'web_search_call', status, action };
    }
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
      const said = failure === null ? { output: text, error: null } : { output: null, error: failure };
      return { ...mcpCall(call), status, arguments: call.argumentsJson, ...said };
    }
  }
}

function actionOf(query: string): JsonObject {
  return { type: 'search', query, queries: [query] };
}

function mcpCall({ label, name, approvalId }: Extract<ServerCall, { kind: 'mcp' }>): JsonObject {
  return { type: 'mcp_call', status: 'in_progress', server_label: label, name, approval_request_id: approvalId };
}
