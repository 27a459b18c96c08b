import { isObject, type JsonObject, stringOr } from '../../../kernel/json.ts';
import { noSignature } from './wire.ts';

/**
 * True for each part that is a response which the parts before it hold already, by the id of its call. Gemini CLI resumes
 * its sessions so.
 */
export function createRepeats(): (part: JsonObject) => boolean {
  const answered = new Set<string>();
  return ({ functionCall: call, functionResponse: response }) => {
    if (isObject(call)) answered.delete(stringOr(call.id, ''));
    const id = isObject(response) ? stringOr(response.id, '') : '';
    if (id === '') return false;
    const repeats = answered.has(id);
    answered.add(id);
    return repeats;
  };
}

/**
 * A caller's contents with the turns of tools as Google takes them. Some clients send each result in a separate content, or
 * twice, or (`signed`) a first call without its signature, and Google refuses that. Null: the contents can stay.
 */
export function withWholeToolTurns(contents: readonly JsonObject[], signed: boolean): JsonObject[] | null {
  const turns: JsonObject[] = [];
  /** Calls of the model's last turn that no result has answered yet. */
  let open = 0;
  let changed = false;
  const repeats = createRepeats();
  for (const given of contents) {
    const all = partsOf(given);
    const parts = all.filter((part) => !repeats(part));
    const content = parts.length === all.length ? given : { ...given, parts };
    if (content !== given) changed = true;
    if (content !== given && parts.length === 0) continue;
    if (content.role === 'model') {
      open = parts.filter((part) => isObject(part.functionCall)).length;
      const turn = signed ? withSignedCall(content, parts) : content;
      if (turn !== content) changed = true;
      turns.push(turn);
      continue;
    }
    const results = parts.filter((part) => isObject(part.functionResponse)).length;
    const before = turns.at(-1);
    if (open > 0 && results > 0 && results === parts.length && before !== undefined && before.role !== 'model') {
      turns[turns.length - 1] = { ...before, parts: [...partsOf(before), ...parts] };
      changed = true;
    } else turns.push(content);
    open = results === 0 ? 0 : open - results;
  }
  return changed ? turns : null;
}

/** Google signs the first call of a turn, and demands it back there. */
function withSignedCall(content: JsonObject, parts: readonly JsonObject[]): JsonObject {
  const first = parts.findIndex((part) => isObject(part.functionCall));
  if (first < 0 || typeof parts[first]!.thoughtSignature === 'string') return content;
  return { ...content, parts: parts.with(first, { ...parts[first], thoughtSignature: noSignature }) };
}

function partsOf({ parts }: JsonObject): JsonObject[] {
  return Array.isArray(parts) && parts.every(isObject) ? parts : [];
}
