import { isObject, type JsonObject, type JsonValue } from '../../../kernel/json.ts';
import { type Loss, lose } from '../../neutral/loss.ts';
import { pictureTypeOf } from '../../neutral/media-type.ts';
import { proofOver } from '../../neutral/thought-proof.ts';
import { UniqueIds } from '../../neutral/unique-ids.ts';
import { vendorCitations } from './citations.ts';
import { rulesOf } from './model-rules.ts';
import { unseal } from './sealed-proof.ts';
import { isGatewayStep } from './server-tool-blocks.ts';
import { blockKinds, type CallerBlock, type CallerBody, type CallerMessage } from './wire.ts';

/** The form of ids that Anthropic accepts. */
const idPattern = /^[\w-]+$/;

type Message = JsonObject & { role: CallerMessage['role']; content: string | JsonObject[] };

/**
 * Messages in the form that Anthropic accepts if another provider answered an earlier turn. Thoughts without
 * Anthropic's signature or anything behind them and others' citations go, since it refuses those, and blank texts for the same reason. Pictures
 * that a model drew become the user's, those of another type than they say get theirs, and ids are spelled in its
 * characters, each only once. Messages of the system are the user's for a model that refuses them. Null if nothing has to
 * change, so that the bytes can stay.
 */
export function historyForAnthropic({ messages }: CallerBody, model: string, losses: Loss[]): Message[] | null {
  let mended = false;
  const rules = rulesOf(model);
  const result: Message[] = [];
  const history: History = { losses, pictures: [], ids: new UniqueIds(), called: new Map(), joined: [] };
  const show = () => {
    if (history.pictures.length > 0) result.push({ role: 'user', content: history.pictures });
    history.pictures = [];
  };
  let before: CallerMessage['role'] | null = null;
  const isOver = overIn(messages);
  for (const [at, message] of messages.entries()) {
    if (message.role === 'assistant') show();
    if (message.role === 'assistant' && before !== 'assistant') history.called.clear();
    before = message.role;
    if (message.role === 'system' && rules.systemInMessages === 'refused') {
      mended = true;
      // The effort is the request's then.
      const sent = ['role', 'content', ...(rules.effort === 'accepted' ? ['output_config'] : [])];
      for (const name in message) if (!sent.includes(name)) lose(history, `messages.${name}`);
      if (!isOver(message, at)) addToUser(message, result, history);
      continue;
    }
    const mendedOne = mendedContent(message, history);
    const ends = message.role === 'assistant' && messages[at + 1]?.role !== 'assistant';
    const content = ends ? withoutLastThoughts(mendedOne ?? message.content, mendedOne, losses) : mendedOne;
    mended ||= content !== null;
    // A turn of only such thoughts said nothing to anybody; Anthropic joins the turns around it.
    if (content === null) result.push(message);
    else if (content.length > 0) result.push({ ...message, content });
    if (message.role === 'user') show();
  }
  show();
  return mended ? result : null;
}

/** Finds system messages for one turn alone, which the user has ended: no model sees them any more. */
export function overIn(messages: readonly CallerMessage[]): (message: CallerMessage, at: number) => boolean {
  const newest = messages.findLastIndex(({ role }) => role === 'user');
  return ({ role, clear_at: end }, at) => role === 'system' && end === 'next_user_message' && newest > at;
}

/** Adds the message to the user's turn before it, or makes a turn of it. */
function addToUser({ content }: CallerMessage, result: Message[], history: History): void {
  const last = result.at(-1);
  const blocks = blocksOf(content);
  // It only set the effort.
  if (blocks.length === 0) return;
  if (last?.role !== 'user') result.push({ role: 'user', content });
  // Copied once, however many follow.
  else if (last.content === history.joined) for (const block of blocks) history.joined.push(block);
  else {
    history.joined = [...blocksOf(last.content), ...blocks];
    result[result.length - 1] = { ...last, content: history.joined };
  }
}

function blocksOf(content: Message['content']): JsonObject[] {
  if (Array.isArray(content)) return content;
  return typeof content === 'string' && content !== '' ? [{ type: 'text', text: content }] : [];
}

interface History {
  readonly losses: Loss[];
  /** Pictures of the assistant's last turn: they follow as the user's, after the answers to its calls. */
  pictures: JsonObject[];
  readonly ids: UniqueIds;
  /** Ids that calls of the assistant's last turn got, by their own, in order. */
  readonly called: Map<string, string[]>;
  /** Content of the last user's turn that system messages were added to. */
  joined: JsonObject[];
}

/** Null when it can stay. */
function mendedContent({ role, content }: CallerMessage, history: History): JsonObject[] | null {
  if (!Array.isArray(content)) return role === 'assistant' && isBlank(content) ? [] : null;
  let changed: JsonObject[] | null = null;
  for (const [i, block] of content.entries()) {
    const drawn = role === 'assistant' && block.type === 'image';
    if (drawn) history.pictures.push(withTrueType(block));
    const mended = drawn ? null : mendedBlock(block, role, history);
    if (mended === block) {
      changed?.push(block);
      continue;
    }
    changed ??= content.slice(0, i);
    if (mended !== null) changed.push(mended);
  }
  return changed;
}

/** Content without the thoughts at its end, which Anthropic refuses: the model was cut off there. `given` if it has none. */
function withoutLastThoughts(
  content: Message['content'],
  given: JsonObject[] | null,
  losses: Loss[],
): JsonObject[] | null {
  if (!Array.isArray(content)) return given;
  const end = content.findLastIndex((block) => !blockKinds.isThought(block)) + 1;
  if (end === content.length) return given;
  lose({ losses }, 'messages.thinking');
  return content.slice(0, end);
}

/** The same block when it is fine, null when it must go. */
function mendedBlock(block: CallerBlock, role: CallerMessage['role'], history: History): JsonObject | null {
  switch (block.type) {
    case 'thinking': {
      const { signature } = block;
      const isSigned = typeof signature === 'string' && signature !== '' && unseal(signature) === null;
      const proof = isSigned ? proofOver(signature, block.thinking as string) : null;
      if (proof !== null) return proof === signature ? block : { ...block, signature: proof };
      return lose(history, 'messages.thinking');
    }
    case 'redacted_thinking':
      if (typeof block.data !== 'string' || unseal(block.data) === null) return block;
      return lose(history, 'messages.redacted_thinking');
    case 'text':
      return role === 'assistant' && isBlank(block.text) ? null : withVendorCitations(block);
    case 'image':
      return withTrueType(block);
    case 'tool_use':
      return withIdOfCall(block, history);
    case 'tool_result':
      return withTruePictures(withIdOfResult(block, history));
    default:
      if (!isGatewayStep(block)) return block;
      return lose(history, `messages.${block.type}`);
  }
}

/** Others write a line before a call: "text content blocks must contain non-whitespace text". */
function isBlank(text: JsonValue | undefined): boolean {
  return typeof text === 'string' && text.trim() === '';
}

function withVendorCitations(block: CallerBlock): JsonObject {
  const fromVendor = vendorCitations(block.citations);
  if (fromVendor === null) return block;
  const { citations: _, ...rest } = block;
  return fromVendor.length === 0 ? rest : { ...rest, citations: fromVendor };
}

function withIdOfCall(block: CallerBlock, { ids, called }: History): JsonObject {
  const { id: given } = block;
  if (typeof given !== 'string') return block;
  const id = ids.take(spelled(given));
  const others = called.get(given);
  if (others === undefined) called.set(given, [id]);
  else others.push(id);
  return id === given ? block : { ...block, id };
}

function withIdOfResult(block: CallerBlock, { called }: History): JsonObject {
  const { tool_use_id: given } = block;
  if (typeof given !== 'string') return block;
  const id = called.get(given)?.shift() ?? spelled(given);
  return id === given ? block : { ...block, tool_use_id: id };
}

function spelled(id: string): string {
  return idPattern.test(id) ? id : id.replace(/[^\w-]/g, '_');
}

/** The pictures that a tool answered with. */
function withTruePictures(block: JsonObject): JsonObject {
  const { content } = block;
  if (!Array.isArray(content)) return block;
  const mended = content.map((one) => (isObject(one) && one.type === 'image' ? withTrueType(one) : one));
  return mended.every((one, at) => one === content[at]) ? block : { ...block, content: mended };
}

/** Anthropic refuses a picture whose bytes are of another type. */
function withTrueType(block: JsonObject): JsonObject {
  const { source } = block;
  if (!isObject(source) || typeof source.data !== 'string' || typeof source.media_type !== 'string') return block;
  const type = pictureTypeOf(source.media_type, source.data);
  return type === source.media_type ? block : { ...block, source: { ...source, media_type: type } };
}
