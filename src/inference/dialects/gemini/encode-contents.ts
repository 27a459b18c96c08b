import type { NeutralMessage, NeutralPart } from '../../neutral/request.ts';
import { encodePart } from './encode-part.ts';
import { encodeResults, type FoundResult, type OpenCall } from './encode-results.ts';
import { type Encoding, lose, refuse } from './encoding.ts';
import { type Content, noSignature, type Part, vendor } from './wire.ts';

export interface EncodedContents {
  system: Part[];
  contents: Content[];
}

/** Google wants the user to speak first and last; a turn that says no more. */
const opening = '(The conversation begins with your message.)';
const continuing = 'Continue.';

/** By the id of the call; several where several calls of a turn have one id, as careless servers give. */
type Results = Map<string, FoundResult[]>;

/**
 * Google's turns: the model's calls, then at once their results, one each and in their order; no system message but
 * the leading ones. The caller's order is kept otherwise. Repairs, each listed as a loss: a conversation that the
 * assistant begins or ends gets a user turn there; a call without a result gets one that says so. A result without its
 * call is refused.
 */
export function encodeContents(messages: readonly NeutralMessage[], encoding: Encoding): EncodedContents {
  const system: Part[] = [];
  const contents: Content[] = [];
  const first = messages.findIndex((message) => message.role !== 'system' && message.role !== 'developer');
  const leading = first < 0 ? messages.length : first;
  for (let i = 0; i < leading; i++) {
    for (const part of partsOf(messages[i]!, i, encoding).parts) {
      if (part.text !== undefined) system.push(part);
      else lose(encoding, `messages[${i}].content`, 'unsupported');
    }
  }
  let open: OpenCall[] = [];
  for (let i = leading; i < messages.length; ) {
    const message = messages[i]!;
    if (message.role === 'assistant') {
      answer(contents, open, new Map(), encoding);
      const { parts, calls } = partsOf(message, i, encoding);
      append(contents, 'model', parts);
      open = calls;
      i++;
      continue;
    }
    // Results may come in several messages, or beside text in one: those that follow a call belong together.
    const results: Results = new Map();
    const said: Part[] = [];
    const asked = new Map<string, number>();
    for (const { id } of open) asked.set(id, (asked.get(id) ?? 0) + 1);
    for (; i < messages.length && messages[i]!.role !== 'assistant'; i++) {
      collectResults(messages[i]!, i, asked, results, encoding);
      for (const part of partsOf(messages[i]!, i, encoding).parts) said.push(part);
    }
    answer(contents, open, results, encoding);
    open = [];
    if (said.length > 0) contents.push({ role: 'user', parts: said });
  }
  answer(contents, open, new Map(), encoding);
  return repaired(system, contents, encoding);
}

function answer(contents: Content[], open: readonly OpenCall[], results: Results, encoding: Encoding): void {
  if (open.length > 0) contents.push(...encodeResults(open, results, encoding));
}

function collectResults(
  message: NeutralMessage,
  index: number,
  /** How many calls of each id wait. */
  asked: ReadonlyMap<string, number>,
  results: Results,
  encoding: Encoding,
): void {
  for (const part of message.parts) {
    if (part.type !== 'tool-result') continue;
    const path = `messages[${index}]`;
    const calls = asked.get(part.callId) ?? 0;
    const found = results.get(part.callId);
    if (calls === 0) {
      refuse(encoding, `${path}.tool_call_id`, 'A result must follow the message with the call that it answers.');
    } else if (found === undefined) results.set(part.callId, [{ result: part, path }]);
    else if (found.length < calls) found.push({ result: part, path });
    else refuse(encoding, `${path}.tool_call_id`, 'The call has more than one result: send one for each call.');
  }
}

function partsOf(message: NeutralMessage, index: number, encoding: Encoding): { parts: Part[]; calls: OpenCall[] } {
  if (message.name !== undefined) lose(encoding, `messages[${index}].name`, 'unsupported');
  const parts: Part[] = [];
  const calls: OpenCall[] = [];
  let content = 0;
  /** A proof that stood on a thought: Google gave it with the piece that followed. */
  let proof: string | null = null;
  for (const part of message.parts) {
    if (part.type === 'tool-result') continue;
    const path = pathOf(part, index, content, calls.length);
    const encoded = encodePart(part, path, encoding);
    if (part.type === 'tool-call') calls.push({ id: part.id, name: part.name, path });
    else if (part.type === 'reasoning') proof = part.vendor === vendor ? (part.signature ?? proof) : proof;
    else if (part.type !== 'redacted-reasoning') content += 1;
    if (encoded === null) continue;
    if (part.type === 'tool-call') sign(encoded, part, proof, calls.length, encoding);
    else if (proof !== null) encoded.thoughtSignature = proof;
    proof = null;
    parts.push(encoded);
  }
  return { parts, calls };
}

/** Of the calls of one turn Google signs the first, and demands it back there. */
function sign(
  encoded: Part,
  call: Extract<NeutralPart, { type: 'tool-call' }>,
  proof: string | null,
  ordinal: number,
  encoding: Encoding,
): void {
  const own = call.vendor === vendor ? call.signature : undefined;
  const signature = own || proof || (ordinal === 1 && encoding.rules.signedCalls ? noSignature : '');
  if (signature !== '') encoded.thoughtSignature = signature;
}

/** Where the part stands in the caller's message. */
function pathOf(part: NeutralPart, message: number, content: number, call: number): string {
  if (part.type === 'tool-call') return `messages[${message}].tool_calls[${call}]`;
  const beside = part.type === 'reasoning' || part.type === 'redacted-reasoning';
  return beside ? `messages[${message}]` : `messages[${message}].content[${content}]`;
}

function append(contents: Content[], role: Content['role'], parts: Part[]): void {
  if (parts.length === 0) return;
  const last = contents.at(-1);
  if (last?.role !== role) contents.push({ role, parts });
  // Not by spreading: a hundred thousand arguments are more than the stack holds.
  else for (const part of parts) last.parts.push(part);
}

function repaired(system: Part[], contents: Content[], encoding: Encoding): EncodedContents {
  if (contents.length === 0) {
    // Instructions alone are a question to OpenAI's models; Google needs someone to ask it.
    if (system.length > 0) return { system: [], contents: [{ role: 'user', parts: system }] };
    refuse(encoding, 'messages', 'The messages have no content: at least one needs text, a picture or a tool result.');
    return { system, contents };
  }
  if (contents[0]!.role === 'model') {
    lose(encoding, 'messages[0]', 'narrowed');
    contents.unshift({ role: 'user', parts: [{ text: opening }] });
  }
  if (contents.at(-1)!.role === 'model') {
    lose(encoding, 'messages', 'narrowed');
    contents.push({ role: 'user', parts: [{ text: continuing }] });
  }
  if (encoding.rules.systemInstruction || system.length === 0) return { system, contents };
  // It stays what it says, in the user's voice.
  return { system: [], contents: [{ role: 'user', parts: system }, ...contents] };
}
