import { type TextPart, type Texts, textsIn, withTexts } from '../../../formats/neutral/json-texts.ts';
import { isObject, type JsonObject, listIn } from '../../../kernel/json.ts';
import { canonicalBody, type ReadableInput } from '../../spine/readable-input.ts';

/** Texts of the message that a message of JSON-RPC brings to an agent. */
function messageTexts(rpc: JsonObject): Texts {
  const found: Texts = { parts: [], unread: [] };
  const { params } = rpc;
  if (!isObject(params)) return found;
  const { message } = params;
  const add = (texts: Texts, path: readonly (string | number)[]) => {
    found.parts.push(...texts.parts.map((part): TextPart => ({ ...part, path: [...path, ...part.path] })));
    found.unread.push(...texts.unread.map((one) => ({ ...one, path: [...path, ...one.path] })));
  };
  if (isObject(params.metadata)) add(textsIn(params.metadata, 'metadata', 'free'), ['params', 'metadata']);
  if (!isObject(message)) return found;
  const at = ['params', 'message'];
  if (isObject(message.metadata)) add(textsIn(message.metadata, 'metadata', 'free'), [...at, 'metadata']);
  const parts = listIn(message.parts);
  for (const [index, part] of parts.entries()) if (isObject(part)) add(textsOfPart(part), [...at, 'parts', index]);
  return found;
}

/** The members of a part by which its form is known, and those of a file in it. Their words mean nothing. */
const marks = new Set(['kind', 'type', 'mediaType', 'mimeType']);
const byteMembers = new Set(['raw', 'bytes']);

function textsOfPart(part: JsonObject): Texts {
  const found: Texts = { parts: [], unread: [] };
  for (const [name, value] of Object.entries(part)) {
    if (marks.has(name)) continue;
    if (byteMembers.has(name)) found.unread.push({ path: [name], kind: 'bytes' });
    else if (name === 'file' && isObject(value)) {
      const { parts, unread } = textsOfPart(value);
      found.parts.push(...parts.map((one) => ({ ...one, path: [name, ...one.path] })));
      found.unread.push(...unread.map((one) => ({ ...one, path: [name, ...one.path] })));
    } else if (typeof value === 'string') {
      const isAddress = name === 'url' || name === 'uri';
      found.parts.push({ path: [name], kind: isAddress ? 'address' : 'user', text: value });
    } else {
      const { parts } = textsIn(value ?? null, name === 'metadata' ? 'metadata' : 'user', 'free');
      found.parts.push(...parts.map((one) => ({ ...one, path: [name, ...one.path] })));
    }
  }
  return found;
}

/** An order of a message of JSON-RPC, whose texts guards may read and change. */
export interface AgentOrder {
  rpc: JsonObject;
  /** Name of the agent. */
  agent: string;
}

export function readableMessage(order: AgentOrder): ReadableInput<AgentOrder> {
  const { rpc, agent } = order;
  return {
    texts: () => messageTexts(rpc),
    canonical: () => canonicalBody(`a2a-call ${agent}`, rpc, ''),
    rewrite(changes) {
      const changed = JSON.parse(withTexts(JSON.stringify(rpc), changes)) as JsonObject;
      return { ...order, rpc: changed };
    },
  };
}
