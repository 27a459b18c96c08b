import { withoutThoughtEdits } from '../../../formats/dialects/anthropic-messages/fit-to-model.ts';
import { blockKinds } from '../../../formats/dialects/anthropic-messages/wire.ts';
import type { CallerDialectId, DialectId } from '../../../formats/dialects/dialect.ts';
import { noSignature } from '../../../formats/dialects/gemini/wire.ts';
import type { Fault } from '../../../formats/neutral/outcome.ts';
import { breaksToolLoop } from '../../../formats/neutral/tool-loop.ts';
import { isObject, type JsonObject, type JsonValue, jsonText, listIn, objectsIn } from '../../../kernel/json.ts';
import type { Attempt } from '../../spine/attempts/attempt.ts';
import type { AttemptSeen, Trial } from '../../spine/attempts/trial.ts';

/** Texts of a body with proofs of thoughts, by its format. */
export const proofMarks: Partial<Record<DialectId, string>> = {
  'anthropic-messages': '"signature":',
  'openai-responses': '"encrypted_content":',
  gemini: '"thoughtSignature":',
  'bedrock-converse': '"reasoningContent":',
};

/** Words for thoughts that are left out, by the caller's format. */
export const thoughtWords: Partial<Record<CallerDialectId, string>> = {
  'anthropic-messages': 'messages.thinking',
  'openai-responses': 'input.reasoning',
  gemini: 'contents.thought',
};

/**
 * An attempt whose body has proofs of thoughts. Another account, region or model made them, and the upstream refuses
 * them: it is asked once more without those thoughts. The conversation could not go on otherwise.
 */
export class ProofTrial implements Trial {
  readonly shows: Trial['shows'];
  readonly #again: () => Attempt | null;
  #call: Attempt;
  #stopped = false;

  constructor(first: Attempt, again: () => Attempt | null) {
    this.#call = first;
    this.#again = again;
    this.shows = first.shows;
  }

  get signs(): number {
    return this.#call.signs;
  }

  get paused(): boolean {
    return this.#call.paused;
  }

  async run(): Promise<Fault | null> {
    const outcome = await this.#call.run();
    if (outcome === null || this.#stopped || !refusesProofs(outcome)) return outcome;
    const again = this.#again();
    if (again === null) return outcome;
    this.#call = again;
    return again.run();
  }

  stop(why: Fault): void {
    this.#stopped = true;
    this.#call.stop(why);
  }

  seen(served: boolean, outcome: Fault | null): AttemptSeen {
    return this.#call.seen(served, outcome);
  }
}

const ofProofs =
  /signature\W+in\W+thinking|thinking\.signature|thinking.{1,80}cannot be modified|thought.?signature|encrypted content.{1,200}could not be (verified|decrypted)/is;

function refusesProofs({ class: outcome, status, code, message }: Fault): boolean {
  return (
    outcome === 'caller_fault' && status === 400 && (code === 'invalid_encrypted_content' || ofProofs.test(message))
  );
}

/** Longer bodies would keep the loop for too long, and are not looked at. */
export const proofBytesMax = 4 * 1024 * 1024;

/** The body without the thoughts of earlier turns. Null: it has none. */
export function withoutProofs(bytes: Buffer | string, dialect: DialectId): string | null {
  const body = JSON.parse(bytes.toString()) as JsonObject;
  const field = dialect === 'openai-responses' ? 'input' : dialect === 'gemini' ? 'contents' : 'messages';
  const list = listIn(body[field]);
  const left = list.map(strip[dialect] ?? ((turn) => turn)).filter((turn) => turn !== null);
  if (left.every((turn, at) => turn === list[at]) && left.length === list.length) return null;
  body[field] = left;
  const { thinking, context_management: management } = body;
  const turns = objectsIn(left).map(({ role, content }) => ({ role: jsonText(role), content: objectsIn(content) }));
  if (isObject(thinking) && thinking.type === 'enabled' && breaksToolLoop(turns, blockKinds)) {
    body.thinking = { type: 'disabled' };
    if (isObject(management)) body.context_management = withoutThoughtEdits(management);
  }
  return JSON.stringify(body);
}

/** A turn or an item without thoughts, by format; null: it has nothing else. */
const strip: Partial<Record<DialectId, (turn: JsonValue) => JsonValue>> = {
  'anthropic-messages': (turn) => withParts(turn, 'content', (block) => (blockKinds.isThought(block) ? null : block)),
  'bedrock-converse': (turn) =>
    withParts(turn, 'content', (block) => (block.reasoningContent === undefined ? block : null)),
  'openai-responses': (item) => {
    if (!isObject(item) || item.type === 'reasoning') return null;
    // "… was provided without its required 'reasoning' item", by its id.
    const { id, ...rest } = item;
    return id !== undefined && /^(message|function_call|custom_tool_call)$/.test(jsonText(item.type)) ? rest : item;
  },
  gemini: (turn) =>
    withParts(turn, 'parts', ({ thoughtSignature: proof, ...part }) => {
      if (part.thought === true) return null;
      if (proof === undefined || part.functionCall === undefined) return part;
      return { ...part, thoughtSignature: noSignature };
    }),
};

function withParts(turn: JsonValue, name: string, fit: (part: JsonObject) => JsonObject | null): JsonValue {
  const parts = isObject(turn) ? turn[name] : null;
  if (!isObject(turn) || !Array.isArray(parts)) return turn;
  const left = parts.map((part) => (isObject(part) ? fit(part) : part)).filter((part) => part !== null);
  return left.length === 0 ? null : { ...turn, [name]: left };
}
