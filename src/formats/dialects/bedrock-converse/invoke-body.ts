import { type Failure, invalid } from '../../../kernel/failure.ts';
import { isObject, type JsonScan, listIn, memberValue, objectsIn, parsedJson, scanJson } from '../../../kernel/json.ts';
import { jsonDepthMax } from '../../../kernel/limits.ts';
import { withFirst } from '../gemini/path-members.ts';
import { withPathMembers } from './path-members.ts';

/** Vendor's format that a body of InvokeModel has. */
export type InvokeForm = 'anthropic-messages' | 'openai-chat' | 'bedrock-converse' | 'embeddings' | 'rerank';

export interface InvokedBody {
  form: InvokeForm;
  /** Body with the model of the path, and without the members that only Bedrock wants. */
  body: Buffer;
  /** Anthropic's betas, which are in a header elsewhere; null: none. */
  betas: string | null;
}

/** More than any real request has: a body is looked through before it is known to be large. */
const widthMax = { structure: 200_000, commas: 2_000_000 };

/**
 * Tells by its members in which vendor's format a body is: Anthropic's Messages (`anthropic_version`), Amazon Nova's,
 * which is Converse's (`system`, `inferenceConfig`, parts without `type`), OpenAI's chat completions (other `messages`),
 * texts to embed of Amazon or Cohere, or Cohere's documents to rank. Refused: any other.
 */
export function readInvokeBody(raw: Buffer, model: string, stream: boolean): InvokedBody | Failure {
  const scan = scanJson(raw, jsonDepthMax, widthMax);
  if (scan.tooWide) return invalid(null, 'The body has too many values. Send it in parts.');
  const has = (name: string) => memberValue(raw, scan.members, name) !== null;
  if (has('anthropic_version')) {
    const body = withPathMembers(without(raw, scan, vendorMembers), model, stream);
    return invoked('anthropic-messages', body, betasIn(raw, scan));
  }
  if (has('messages') && (novaMembers.some(has) || hasNovaParts(raw, scan))) {
    return invoked('bedrock-converse', withPathMembers(without(raw, scan, ['schemaVersion']), model, stream));
  }
  if (has('messages')) {
    // Bedrock accepts OpenAI's name of the model in the body, too: the path's counts.
    return invoked('openai-chat', withPathMembers(without(raw, scan, ['model', 'stream']), model, stream));
  }
  const named = () => withFirst(raw, `"model":${JSON.stringify(model.toWellFormed())}`);
  if (!stream && has('query') && has('documents')) return invoked('rerank', named());
  const isTitan = has('inputText') && !has('textGenerationConfig');
  if (!stream && (isTitan || has('texts') || has('singleEmbeddingParams'))) return invoked('embeddings', named());
  // The reader of the body refuses all that is not an object.
  if (scan.afterBrace < 0) return invoked('openai-chat', raw);
  const message = `This body is none that is taken here. Send one of Anthropic's ('anthropic_version' and 'messages'), Amazon Nova's ('messages' and 'inferenceConfig') or OpenAI's ('messages')${stream ? '' : ", texts to embed ('inputText', 'texts' or 'singleEmbeddingParams'), or Cohere's 'query' and 'documents'"}. Converse takes a conversation for every model.`;
  return invalid(null, message);
}

/** Members of Anthropic's bodies that clouds want there or have in the path. */
const vendorMembers = ['anthropic_version', 'anthropic_beta', 'model', 'stream'];

/** Members that OpenAI's bodies never have. All of them are optional. */
const novaMembers = ['schemaVersion', 'inferenceConfig', 'toolConfig', 'system'];

/** Parts of Nova's have no `type`, as OpenAI's have: a part is a text by its member `text`. */
function hasNovaParts(raw: Buffer, scan: JsonScan): boolean {
  const range = memberValue(raw, scan.members, 'messages');
  if (range === null) return false;
  const messages = parsedJson(raw.toString('utf8', range.start, range.end));
  const contents = objectsIn(messages).map(({ content }) => content);
  const [first] = listIn(contents.find((content) => Array.isArray(content) && content.length > 0));
  return isObject(first) && first.type === undefined;
}

function invoked(form: InvokeForm, body: Buffer, betas: string | null = null): InvokedBody | Failure {
  return { form, body, betas };
}

const betasBytesMax = 2_048;

function betasIn(raw: Buffer, scan: JsonScan): string | null {
  const range = memberValue(raw, scan.members, 'anthropic_beta');
  if (range === null || range.end - range.start > betasBytesMax) return null;
  const value = parsedJson(raw.toString('utf8', range.start, range.end));
  const words = listIn(value).filter((one) => typeof one === 'string' && /^[\w.-]+$/.test(one));
  return words.length === 0 ? null : words.join(',');
}

/** A body without top-level members of these names; itself, where it is too wide to look through. */
export function withoutMembers(raw: Buffer, names: readonly string[]): Buffer {
  const scan = scanJson(raw, jsonDepthMax, widthMax);
  return scan.tooWide || scan.afterBrace < 0 ? raw : without(raw, scan, names);
}

/** The object without top-level members of these names, its values as they came. */
function without(raw: Buffer, { members }: JsonScan, names: readonly string[]): Buffer {
  const pieces: Buffer[] = [];
  for (let i = 0; i < members.length; i += 4) {
    const [keyStart = 0, keyEnd = 0, , valueEnd = 0] = members.slice(i, i + 4);
    if (names.includes(raw.toString('latin1', keyStart, keyEnd))) continue;
    pieces.push(pieces.length === 0 ? opening : comma, raw.subarray(keyStart - 1, valueEnd));
  }
  const all = pieces.length === 0 ? [opening, closing] : [...pieces, closing];
  return pieces.length === (members.length / 4) * 2 ? raw : Buffer.concat(all);
}

const opening = Buffer.from('{');
const comma = Buffer.from(',');
const closing = Buffer.from('}');
