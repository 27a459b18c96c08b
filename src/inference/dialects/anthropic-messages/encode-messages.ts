import type { NeutralMessage, NeutralPart } from '../../neutral/request.ts';
import { encodePart } from './encode-content.ts';
import { type Encoding, lose, refuse } from './encoding.ts';
import type { ModelRules } from './model-rules.ts';
import type { Block, TextBlock, Turn } from './wire.ts';

export interface EncodedMessages {
  system: TextBlock[];
  turns: Turn[];
}

/** Anthropic wants the user to speak first, and newer models want to be asked last; a turn that says no more. */
const opening = '(The conversation begins with your message.)';
const continuing = 'Continue.';

/**
 * Anthropic's turns: user and assistant by turns, tool results first in the user's turn after the call, no system
 * message but the leading ones. The caller's order is kept otherwise. Repairs, each listed as a loss of `messages`:
 * a conversation that the assistant begins gets a user turn before it; one that the assistant ends gets one after it
 * where the model refuses to go on from its own words.
 */
export function encodeMessages(
  messages: readonly NeutralMessage[],
  rules: ModelRules,
  encoding: Encoding,
): EncodedMessages {
  const system: TextBlock[] = [];
  const turns: Turn[] = [];
  let i = 0;
  for (; i < messages.length && isInstruction(messages[i]!); i++) {
    for (const block of blocksOf(messages[i]!, i, encoding)) {
      if (isText(block)) system.push(block);
      else lose(encoding, `messages[${i}].content`, 'unsupported');
    }
  }
  for (; i < messages.length; i++) {
    const message = messages[i]!;
    if (message.name !== undefined) lose(encoding, `messages[${i}].name`, 'unsupported');
    // A later system message stays where it stands, in the user's voice: only the newest models take it otherwise.
    append(turns, message.role === 'assistant' ? 'assistant' : 'user', blocksOf(message, i, encoding));
  }
  return repaired(system, turns, rules, encoding);
}

function isInstruction(message: NeutralMessage): boolean {
  return message.role === 'system' || message.role === 'developer';
}

function isText(block: Block): block is TextBlock {
  return block.type === 'text';
}

function blocksOf(message: NeutralMessage, index: number, encoding: Encoding): Block[] {
  const blocks: Block[] = [];
  let contents = 0;
  let calls = 0;
  for (const part of message.parts) {
    const block = encodePart(part, pathOf(part, index, contents, calls), encoding);
    if (part.type === 'tool-call') calls += 1;
    else if (!besideContent(part)) contents += 1;
    if (block !== null) blocks.push(block);
  }
  return blocks;
}

/** Where the part stands in the caller's message. */
function pathOf(part: NeutralPart, message: number, content: number, call: number): string {
  if (part.type === 'tool-call') return `messages[${message}].tool_calls[${call}]`;
  return besideContent(part) ? `messages[${message}]` : `messages[${message}].content[${content}]`;
}

function besideContent(part: NeutralPart): boolean {
  return part.type === 'reasoning' || part.type === 'redacted-reasoning' || part.type === 'tool-result';
}

/** Consecutive messages of one voice are one turn; tool results go before what else the turn says. */
function append(turns: Turn[], role: Turn['role'], blocks: Block[]): void {
  if (blocks.length === 0) return;
  const last = turns.at(-1);
  if (last === undefined || last.role !== role) {
    turns.push({ role, content: role === 'user' ? resultsFirst(blocks) : blocks });
    return;
  }
  for (const block of blocks) last.content.push(block);
  if (role === 'user') last.content = resultsFirst(last.content);
}

function resultsFirst(blocks: Block[]): Block[] {
  let others = false;
  for (const block of blocks) {
    if (block.type !== 'tool_result') others = true;
    else if (others) {
      return [...blocks.filter((b) => b.type === 'tool_result'), ...blocks.filter((b) => b.type !== 'tool_result')];
    }
  }
  return blocks;
}

function repaired(system: TextBlock[], turns: Turn[], rules: ModelRules, encoding: Encoding): EncodedMessages {
  if (turns.length === 0) {
    // Instructions alone are a question to OpenAI's models; Anthropic needs someone to ask it.
    if (system.length > 0) return { system: [], turns: [{ role: 'user', content: system }] };
    refuse(encoding, 'messages', 'The messages have no content: at least one needs text, a picture or a tool result.');
    return { system, turns };
  }
  if (turns[0]!.role === 'assistant') {
    lose(encoding, 'messages[0]', 'narrowed');
    turns.unshift({ role: 'user', content: [{ type: 'text', text: opening }] });
  }
  const last = turns.at(-1)!;
  if (last.role === 'assistant') {
    if (rules.prefill === 'refused') {
      lose(encoding, 'messages', 'narrowed');
      turns.push({ role: 'user', content: [{ type: 'text', text: continuing }] });
    } else {
      const end = last.content.at(-1)!;
      // Anthropic refuses a beginning that ends in white space.
      if (isText(end)) last.content[last.content.length - 1] = { ...end, text: end.text.trimEnd() };
    }
  }
  return { system, turns };
}
