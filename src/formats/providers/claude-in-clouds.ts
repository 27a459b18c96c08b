import { isObject, type JsonObject, type JsonValue, jsonText, listIn } from '../../kernel/json.ts';
import type { FitMembers } from '../dialects/forward-target.ts';
import type { Loss } from '../neutral/loss.ts';

/**
 * Bodies of Messages as Bedrock and Vertex take them. Both answer 400 ("Extra inputs are not permitted") to `speed`, to the
 * `scope` of a cache mark, to a mark of the whole body, and to `eager_input_streaming`, which the AI SDK writes into every
 * tool. `eagerBeta`: the beta that does the same there; absent: there is none. `refused`: further members that are left out.
 */
export function inCloud(eagerBeta?: string, refused: readonly string[] = []): FitMembers {
  return (body) => {
    const { speed, cache_control: whole, tools, messages } = body;
    const found: Found = { marks: 0, scoped: false };
    const members: JsonObject = {};
    for (const name of ['system', 'tools', 'messages']) {
      const list = body[name];
      const fitted = Array.isArray(list) ? withoutScopes(list, found) : list;
      if (fitted !== undefined && fitted !== list) members[name] = fitted;
    }
    const isEager = listIn(tools).some((tool) => isObject(tool) && tool.eager_input_streaming !== undefined);
    if (isEager) members.tools = listIn(members.tools ?? tools).map(withoutEager);
    const isMarked = isObject(whole);
    const marked =
      isMarked && found.marks < marksMax ? withLastMarked(listIn(members.messages ?? messages), whole) : null;
    if (marked !== null) members.messages = marked;
    const lost = [
      ...(speed === undefined || speed === null || speed === 'standard' ? [] : ['speed']),
      ...(found.scoped ? ['cache_control.scope'] : []),
      ...(isMarked && marked === null ? ['cache_control'] : []),
      ...refused.flatMap((name) => ((body[name] ?? null) === null ? [] : (lossNames[name] ?? [name]))),
      ...(isEager && eagerBeta === undefined ? ['tools.eager_input_streaming'] : []),
    ];
    const without = ['speed', 'cache_control', ...refused].filter((name) => body[name] !== undefined);
    if (without.length === 0 && Object.keys(members).length === 0) return null;
    const losses = lost.map((field): Loss => ({ field, why: 'unsupported' }));
    return { members, without, losses, ...(isEager && eagerBeta !== undefined && { betas: [eagerBeta] }) };
  };
}

/** Losses of members that have a name of their parts, or are none: a cloud's tier is the standard one. */
const lossNames: Readonly<Record<string, readonly string[]>> = { metadata: ['metadata.user_id'], service_tier: [] };

/** Members that clouds answer 400 to without one of these betas, which Claude Code does not always send. */
export const openedByBeta = { context_management: /^(context-management|compact)-/ };

/** Anthropic refuses more. */
const marksMax = 4;

interface Found {
  marks: number;
  scoped: boolean;
}

/** The same list where no block has a `scope`. */
function withoutScopes(blocks: JsonValue[], found: Found): JsonValue[] {
  const all = blocks.map((block) => withoutScope(block, found));
  return all.every((one, at) => one === blocks[at]) ? blocks : all;
}

function withoutScope(block: JsonValue, found: Found): JsonValue {
  if (!isObject(block)) return block;
  const { cache_control: mark, content } = block;
  const inner = Array.isArray(content) ? withoutScopes(content, found) : content;
  const { scope, ...rest } = isObject(mark) ? mark : {};
  if (isObject(mark)) found.marks++;
  if (scope !== undefined) found.scoped = true;
  if (scope === undefined && inner === content) return block;
  return {
    ...block,
    ...(inner !== undefined && { content: inner }),
    ...(scope !== undefined && { cache_control: rest }),
  };
}

function withoutEager(tool: JsonValue): JsonValue {
  if (!isObject(tool)) return tool;
  const { eager_input_streaming: _, ...rest } = tool;
  return rest;
}

/** A mark of the whole body is one of its last block. Null: no block of the last message can have one. */
function withLastMarked(messages: readonly JsonValue[], mark: JsonObject): JsonValue[] | null {
  const last = messages.at(-1);
  if (!isObject(last)) return null;
  const { content } = last;
  const blocks: JsonValue[] = typeof content === 'string' ? [{ type: 'text', text: content }] : listIn(content);
  const at = blocks.findLastIndex(
    (block) => isObject(block) && block.text !== '' && !/thinking$/.test(jsonText(block.type)),
  );
  const block = blocks[at];
  if (!isObject(block)) return null;
  return [...messages.slice(0, -1), { ...last, content: blocks.with(at, { cache_control: mark, ...block }) }];
}
