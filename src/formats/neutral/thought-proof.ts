import { createHash, type Hash } from 'node:crypto';
import { isObject, type JsonObject, type JsonValue, jsonText } from '../../kernel/json.ts';

/*
 * Claude's proofs are over the text of a thought: Anthropic and Bedrock refuse a request whose thought is not as they
 * signed it. Other vendors' proofs hold the thought itself, whatever text accompanies it.
 */

const overText: ReadonlySet<string> = new Set(['anthropic-messages', 'bedrock-converse']);
/** Vendors whose proofs show nothing of the thought. */
const opaque: ReadonlySet<string> = new Set(['gemini', 'openai-responses']);

/** Begins a proof over a text in which words stood for the caller's values: the digest of that text, and the proof follow. */
const bound = 'culvert.words:';

/** A thought of an answer on its way through steps, up to its proof. */
export class SeenThought {
  readonly #given: Hash = createHash('sha256');
  readonly #passed: Hash = createHash('sha256');
  #hides = false;

  /** A piece as it came, and what goes on. `hides`: more of it may be lost than words that stood for the caller's values. */
  saw(given: string, passed: string, hides: boolean): void {
    this.#given.update(given);
    this.#passed.update(passed);
    this.#hides ||= hides;
  }

  /** The proof for the caller: bound where its text has to come back first. Null: nobody will have that text any more. */
  proofFor(signature: string, vendor: string): string | null {
    const digest = this.#given.digest('base64url');
    if (opaque.has(vendor) || digest === this.#passed.digest('base64url')) return signature;
    if (this.#hides) return null;
    return overText.has(vendor) ? `${bound}${digest}.${signature}` : signature;
  }
}

/** A proof for callers of a format whose items may come back without their text: it says which text it is over. */
export function proofWithText(signature: string, vendor: string, text: string): string {
  if (text === '' || !overText.has(vendor) || signature.startsWith(bound)) return signature;
  return `${bound}${createHash('sha256').update(text).digest('base64url')}.${signature}`;
}

/** The vendor's proof over a thought as it goes to the vendor; null: it is over another text. */
export function proofOver(signature: string, text: string): string | null {
  if (!signature.startsWith(bound)) return signature;
  const digest = createHash('sha256').update(text).digest('base64url');
  const expected = `${bound}${digest}.`;
  return signature.startsWith(expected) ? signature.slice(expected.length) : null;
}

/**
 * Takes the proof from the thought whose text at `path` was changed. A bound proof stays: it says which text it is over.
 * `root`: body of a request in any format, or turns in the neutral form.
 */
export function dropProof(root: JsonValue, path: readonly (string | number)[]): void {
  const around: (JsonValue | undefined)[] = [root];
  for (const step of path.slice(0, -1)) around.push((around.at(-1) as JsonObject | undefined)?.[step]);
  const [item, parts, part] = around.slice(-3);
  // The part with the text, or the item whose summary has it.
  for (const holder of [item, part]) if (isObject(holder)) dropFrom(holder);
  if (!Array.isArray(parts) || !isObject(part) || part.thought !== true) return;
  // A stream has Google's parts in pieces, with the proof in the last one.
  const last = parts.slice(Number(path.at(-2))).find((one) => isObject(one) && one.thoughtSignature !== undefined);
  if (isObject(last) && last.thought === true) dropFrom(last);
}

function dropFrom(holder: JsonObject): void {
  const { vendor = 'anthropic-messages', format = 'anthropic', providerOptions } = holder;
  if (!overText.has(jsonText(vendor)) || !/^(anthropic|unknown)/.test(jsonText(format))) return;
  for (const name of ['signature', 'thoughtSignature', 'encrypted_content']) {
    const proof = holder[name];
    // What OpenAI encrypted is the thought, and without it the item is none.
    const isOpenAis = name === 'encrypted_content' && !jsonText(proof).startsWith('culvert.s.');
    if (typeof proof === 'string' && !isOpenAis && !isBound(proof)) delete holder[name];
  }
  // The AI SDK's place.
  if (isObject(providerOptions)) for (const one of Object.values(providerOptions)) if (isObject(one)) dropFrom(one);
}

/** Formats of others have the proof in base64. */
function isBound(proof: string): boolean {
  return proof.includes(bound) || Buffer.from(proof.slice(proof.lastIndexOf('.') + 1), 'base64').includes(bound);
}

/*
 * Callers of Messages that want no thoughts get those without a proof in the place of one, in base64. They are texts: another
 * provider reads them in the next turn.
 */

/** Step of a path into such a text. */
export const sealedStep = 'thought';
const sealed = /^culvert\.thought\.([\w-]*)$/;

/** A proof with its text in it, of chat completions. */
export const tellingProof = /^culvert[.:](s\.)?openai-chat[.:]|^Y3VsdmVydDpvcGVuYWktY2hhd/;

/** Null: it is no sealed thought. */
export function thoughtIn(text: string): string | null {
  const payload = text.startsWith('culvert.') ? sealed.exec(text)?.[1] : undefined;
  return payload === undefined ? null : Buffer.from(payload, 'base64url').toString('utf8');
}

export function sealThought(text: string): string {
  return `culvert.thought.${Buffer.from(text, 'utf8').toString('base64url')}`;
}
