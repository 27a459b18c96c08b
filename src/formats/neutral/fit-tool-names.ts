import type { NeutralMessage, NeutralPart, NeutralRequest } from './request.ts';

/** OpenAI's and Google's bound; Anthropic's is 128, and tools of MCP servers do come near to it. */
const nameCharsMax = 64;
const fits = /^[\w-]{1,64}$/;
const hashChars = 8;

/** Names that the target sees, and the caller's own for each. */
export type CallersToolNames = Readonly<Record<string, string>>;

/**
 * The request with tool names of at most 64 letters, digits, `_` and `-`: a longer one keeps its beginning and ends in
 * a hash of the whole, so that it is the same in every turn. Null when all names fit.
 */
export function fitToolNames(
  request: NeutralRequest,
): { request: NeutralRequest; callersNames: CallersToolNames } | null {
  const callersNames: Record<string, string> = {};
  const fitted = new Map<string, string>();
  const fit = (name: string): string => {
    if (fits.test(name)) return name;
    const known = fitted.get(name);
    if (known !== undefined) return known;
    const short = `${name.replace(/[^\w-]/g, '_').slice(0, nameCharsMax - hashChars - 1)}_${hashOf(name)}`;
    fitted.set(name, short);
    callersNames[short] = name;
    return short;
  };
  const { tools, toolChoice, messages } = request;
  const changed: NeutralRequest = { ...request, messages: messages.map((message) => withNames(message, fit)) };
  if (tools !== undefined)
    changed.tools = tools.map((tool) => (fits.test(tool.name) ? tool : { ...tool, name: fit(tool.name) }));
  if (toolChoice?.type === 'tool') changed.toolChoice = { type: 'tool', name: fit(toolChoice.name) };
  return fitted.size === 0 ? null : { request: changed, callersNames };
}

function withNames(message: NeutralMessage, fit: (name: string) => string): NeutralMessage {
  if (message.role !== 'assistant') return message;
  const parts = message.parts.map(
    (part): NeutralPart =>
      part.type === 'tool-call' && !fits.test(part.name) ? { ...part, name: fit(part.name) } : part,
  );
  return { ...message, parts };
}

/** FNV-1a, 32 bits: only has to tell a caller's own tools apart. */
function hashOf(name: string): string {
  let hash = 0x811c9dc5;
  for (let i = 0; i < name.length; i++) hash = Math.imul(hash ^ name.charCodeAt(i), 0x01000193);
  return (hash >>> 0).toString(16).padStart(hashChars, '0');
}
