import { isObject, type JsonObject, type JsonValue, jsonText, stringOr } from '../../../kernel/json.ts';
import type { NeutralPart } from '../../neutral/request.ts';
import type { ServerCall, ServerResult, ServerSource } from '../../neutral/server-tool.ts';
import type { OpenedBlock } from './block-sink.ts';
import type { CallerBlock } from './wire.ts';

/** Beginnings of the ids of calls that this gateway made. */
const gatewayIds = { server_tool_use: 'srvtoolu_cv_', mcp_tool_use: 'mcptoolu_cv_' } as const;
/** Text of a page, as later requests send it back: Anthropic's is encrypted. */
const gatewayMark = 'cv1.';

/** Anthropic's word for a call that no code made. */
const byModel = { caller: { type: 'direct' } };

type CallBlock = Omit<Extract<OpenedBlock, { type: 'tool_use' }>, 'type'>;

/** Null where the format has no word for such a call. */
export function callBlock(call: ServerCall): { opened: CallBlock; inputJson: string } | null {
  switch (call.kind) {
    case 'web_search':
      return { opened: serverToolUse(call), inputJson: JSON.stringify({ query: call.query }) };
    case 'web_fetch':
      return { opened: serverToolUse(call), inputJson: JSON.stringify({ url: call.url }) };
    case 'file_search':
      return null;
    case 'mcp': {
      const id = gatewayIds.mcp_tool_use + call.id;
      const opened = { id, name: call.name, as: 'mcp_tool_use', beside: { server_name: call.label } } as const;
      return { opened, inputJson: call.argumentsJson };
    }
  }
}

function serverToolUse({ kind, id }: ServerCall): CallBlock {
  return { id: gatewayIds.server_tool_use + id, name: kind, as: 'server_tool_use', beside: byModel };
}

/** Null as above. */
export function resultBlock(call: ServerCall, result: ServerResult): JsonObject | null {
  const { failure, sources, text, code } = result;
  switch (call.kind) {
    case 'web_search': {
      const pages = sources.map(({ url, title, quote, age }) => ({
        type: 'web_search_result',
        url,
        title,
        encrypted_content: gatewayMark + Buffer.from(quote).toString('base64'),
        page_age: age,
      }));
      return {
        type: 'web_search_tool_result',
        tool_use_id: gatewayIds.server_tool_use + call.id,
        ...byModel,
        content: failure === null ? pages : { type: 'web_search_tool_result_error', error_code: code ?? 'unavailable' },
      };
    }
    case 'web_fetch': {
      const [page] = sources;
      const error = { type: 'web_fetch_tool_result_error', error_code: code ?? 'unavailable' };
      return {
        type: 'web_fetch_tool_result',
        tool_use_id: gatewayIds.server_tool_use + call.id,
        ...byModel,
        content: page === undefined ? error : fetchedPage(page, result),
      };
    }
    case 'file_search':
      return null;
    case 'mcp':
      return {
        type: 'mcp_tool_result',
        tool_use_id: gatewayIds.mcp_tool_use + call.id,
        is_error: failure !== null,
        content: [{ type: 'text', text: failure ?? text }],
      };
  }
}

function fetchedPage({ url, title, quote }: ServerSource, { fetchedAt }: ServerResult): JsonObject {
  return {
    type: 'web_fetch_result',
    url,
    retrieved_at: fetchedAt ?? null,
    content: {
      type: 'document',
      source: { type: 'text', media_type: 'text/plain', data: quote },
      title: title === '' ? null : title,
      citations: null,
    },
  };
}

/** True if this gateway made the call or the result: no provider knows its id. */
export function isGatewayStep({ type, id, tool_use_id: callId }: JsonObject): boolean {
  // Bodies that only Anthropic may judge hold anything.
  if (typeof type !== 'string') return false;
  if (type !== 'server_tool_use' && type !== 'mcp_tool_use' && !type.endsWith('_tool_result')) return false;
  const named = type.endsWith('_tool_use') ? id : callId;
  return Object.values(gatewayIds).some((mark) => typeof named === 'string' && named.startsWith(mark));
}

/** Such a block as a call of a function, or its result. */
export function partOfStep(block: CallerBlock): Extract<NeutralPart, { type: 'tool-call' | 'tool-result' }> {
  if (block.type.endsWith('_tool_use')) {
    const argumentsJson = JSON.stringify(block.input ?? {});
    const { server_name: server } = block;
    const name = stringOr(block.name, 'tool');
    return {
      type: 'tool-call',
      id: jsonText(block.id),
      name: typeof server === 'string' ? `${server}__${name}` : name,
      argumentsJson,
    };
  }
  const found = Array.isArray(block.content) ? block.content : [block.content];
  const content = found.filter(isObject);
  const text = content.map(textOf).join('\n\n');
  const isError = block.is_error === true || content.some(({ type }) => jsonText(type).endsWith('_error'));
  const parts = [{ type: 'text' as const, text: text === '' ? 'Nothing was found.' : text }];
  return { type: 'tool-result', callId: jsonText(block.tool_use_id), parts, isError };
}

function textOf(found: JsonObject): string {
  if (typeof found.text === 'string') return found.text;
  if (typeof found.error_code === 'string') return `It failed: ${found.error_code}`;
  if (isObject(found.content)) {
    const { title, source } = found.content;
    return linesOf(title, found.url, isObject(source) ? source.data : null);
  }
  const encryptedContent = stringOr(found.encrypted_content, '');
  const text = encryptedContent.startsWith(gatewayMark)
    ? Buffer.from(encryptedContent.slice(gatewayMark.length), 'base64').toString()
    : '';
  return linesOf(found.title, found.url, text);
}

function linesOf(...lines: (JsonValue | undefined)[]): string {
  return lines.filter((line) => typeof line === 'string' && line !== '').join('\n');
}
