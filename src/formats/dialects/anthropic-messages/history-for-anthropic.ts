import type { JsonObject, JsonValue } from '../../../kernel/json.ts';
import type { Loss } from '../../neutral/loss.ts';
import { vendorCitations } from './citations.ts';
import { unseal } from './sealed-proof.ts';
import { isGatewayStep } from './server-tool-blocks.ts';
import type { CallerBlock, CallerBody, CallerMessage } from './wire.ts';

/** The form of ids that Anthropic accepts. */
const idPattern = /^[\w-]+$/;

/**
 * Messages in the form that Anthropic accepts if another provider answered an earlier turn. Thoughts without
 * Anthropic's signature and others' citations go, since it refuses those, and empty texts for the same reason. Pictures
 * that a model drew become the user's, and ids are spelled in its characters. Null if nothing has to change, so that
 * the bytes can stay.
 */
export function historyForAnthropic({ messages }: CallerBody, losses: Loss[]): JsonValue | null {
  let mended = false;
  const result: JsonValue[] = [];
  /** Pictures of the assistant's last turn: they follow as the user's, after the answers to its calls. */
  let pictures: JsonObject[] = [];
  const show = () => {
    if (pictures.length > 0) result.push({ role: 'user', content: pictures });
    pictures = [];
  };
  for (const message of messages) {
    if (message.role === 'assistant') show();
    const content = mendedContent(message, losses, pictures);
    mended ||= content !== null;
    // A turn of only such thoughts said nothing to anybody; Anthropic joins the turns around it.
    if (content === null) result.push(message);
    else if (content.length > 0) result.push({ ...message, content });
    if (message.role === 'user') show();
  }
  show();
  return mended ? result : null;
}

/** Null when it can stay. */
function mendedContent({ role, content }: CallerMessage, losses: Loss[], pictures: JsonObject[]): JsonObject[] | null {
  if (!Array.isArray(content)) return null;
  let changed: JsonObject[] | null = null;
  for (const [i, block] of content.entries()) {
    const drawn = role === 'assistant' && block.type === 'image';
    if (drawn) pictures.push(block);
    const mended = drawn ? null : mendedBlock(block, role, losses);
    if (mended === block) {
      changed?.push(block);
      continue;
    }
    changed ??= content.slice(0, i);
    if (mended !== null) changed.push(mended);
  }
  return changed;
}

/** The same block when it is fine, null when it must go. */
function mendedBlock(block: CallerBlock, role: CallerMessage['role'], losses: Loss[]): JsonObject | null {
  switch (block.type) {
    case 'thinking': {
      const { signature } = block;
      if (typeof signature === 'string' && signature !== '' && unseal(signature) === null) return block;
      lose(losses, 'messages.thinking');
      return null;
    }
    case 'redacted_thinking':
      if (typeof block.data !== 'string' || unseal(block.data) === null) return block;
      lose(losses, 'messages.redacted_thinking');
      return null;
    case 'text':
      return role === 'assistant' && block.text === '' ? null : withVendorCitations(block);
    case 'tool_use':
      return withId(block, 'id');
    case 'tool_result':
      return withId(block, 'tool_use_id');
    default:
      if (!isGatewayStep(block)) return block;
      lose(losses, `messages.${block.type}`);
      return null;
  }
}

function withVendorCitations(block: CallerBlock): JsonObject {
  const fromVendor = vendorCitations(block.citations);
  if (fromVendor === null) return block;
  const { citations: _, ...rest } = block;
  return fromVendor.length === 0 ? rest : { ...rest, citations: fromVendor };
}

function withId(block: CallerBlock, member: 'id' | 'tool_use_id'): JsonObject {
  const id = block[member];
  return typeof id !== 'string' || idPattern.test(id) ? block : { ...block, [member]: id.replace(/[^\w-]/g, '_') };
}

function lose(losses: Loss[], field: string): void {
  if (!losses.some((loss) => loss.field === field)) losses.push({ field, why: 'unsupported' });
}
