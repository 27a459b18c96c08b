import type { JsonObject } from '../../../kernel/json.ts';
import type { Citation } from '../../neutral/citation.ts';
import type { FinishReason } from '../../neutral/event.ts';
import type { Usage } from '../../neutral/usage.ts';

/** Opening of a block; the events after it fill it. */
export type OpenedBlock =
  | { type: 'text' }
  | { type: 'thinking' }
  | { type: 'redacted_thinking'; data: string }
  /** `as`: a call that the answering server makes, and further members of its block. */
  | { type: 'tool_use'; id: string; name: string; as?: 'server_tool_use' | 'mcp_tool_use'; beside?: JsonObject }
  /** It comes at once. */
  | { type: 'whole'; block: JsonObject };

/** Takes an answer block by block: one is open at a time, each is closed before the next. */
export interface BlockSink {
  /** `usage`: counts that came before the first block. */
  start(id: string | null, model: string | null, usage: Usage | null): void;
  open(block: OpenedBlock): void;
  text(text: string): void;
  thinking(text: string): void;
  signature(signature: string): void;
  inputJson(json: string): void;
  citation(citation: Citation): void;
  /** A part of the answer has no place in this format. */
  lose(part: string): void;
  close(): void;
  /** `members`: further ones of the message; its `usage` has those of the usage. */
  end(reason: FinishReason, stopSequence: string | null, usage: Usage | null, members: JsonObject): void;
}

export interface FilledBlock {
  opened: OpenedBlock;
  /** Its text, thought or arguments. */
  text: string;
  signature: string;
  citations: Citation[];
}

/** A sink that gives each block once it is closed. */
export function filledBlocks(
  give: (block: FilledBlock) => void,
  rest: Pick<BlockSink, 'start' | 'lose' | 'end'>,
): BlockSink {
  const empty = { text: '', signature: '' };
  let block: FilledBlock = { ...empty, opened: { type: 'text' }, citations: [] };
  const add = (text: string) => {
    block.text += text;
  };
  return {
    ...rest,
    open(opened) {
      block = { ...empty, opened, citations: [] };
    },
    text: add,
    thinking: add,
    inputJson: add,
    signature(signature) {
      block.signature = signature;
    },
    citation: (citation) => void block.citations.push(citation),
    close: () => give(block),
  };
}
